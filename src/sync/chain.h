// Where each node of a staging gets its blocks: from the node before it, so that each byte leaves
// the launcher once; from an earlier node if that connection breaks; from the launcher if the nodes
// do not reach each other. Pure.
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

  /// `forwards`: by node, whether it may feed others.
  explicit Chain(std::vector<bool> forwards)
      : forwards_(std::move(forwards)), failed_(forwards_.size()) {}

  /// Always an earlier node; nullopt: the launcher.
  [[nodiscard]] std::optional<std::size_t> source_of(std::size_t node) const;
  void failed(std::size_t source, std::size_t node) { failed_[node].insert(source); }

 private:
  std::vector<bool> forwards_;
  std::vector<std::set<std::size_t>> failed_;  // by node: sources that failed
};

}  // namespace dlaunch::sync
