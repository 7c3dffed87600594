// Where each node of a staging gets its blocks: from the node before it, so that each byte leaves
// the launcher once; from an earlier node if that connection breaks or that node is lost; from the
// launcher if the nodes do not reach each other. A slow node may be put at the end. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace dlaunch::sync {

class Chain {
 public:
  /// A node for which this many connections have failed is fed by the launcher.
  static constexpr std::size_t kMostTries = 2;

  /// By node: `forwards`: whether it may feed others; `holds`: whether it has all blocks from the
  /// beginning, so that it comes before those that do not; as long as `forwards`, or empty: none.
  explicit Chain(std::vector<bool> forwards, const std::vector<bool>& holds = {});

  /// Always an earlier node of the chain; nullopt: the launcher.
  [[nodiscard]] std::optional<std::size_t> source_of(std::size_t node) const;
  /// Whether it has a source, or may get one when the order changes.
  [[nodiscard]] bool may_have_source(std::size_t node) const;
  /// It comes last from now on; those that it feeds need another source.
  void move_to_end(std::size_t node);
  /// The connection between the two has failed.
  void failed(std::size_t source, std::size_t node);
  /// The node is gone.
  void lost(std::size_t node) { forwards_[node] = false; }

 private:
  std::vector<std::size_t> order_;  // of the nodes in the chain
  std::vector<bool> forwards_;
  std::vector<std::set<std::size_t>> failed_;  // by node: sources that failed
};

}  // namespace dlaunch::sync
