// Results of probing the candidate addresses, and the conclusions from them. Thread-safety: plain
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/cluster.h"
#include "model/result.h"
#include "plan/candidates.h"

namespace dlaunch {

/// The result of one node's probe of one candidate.
struct ReachResult {
  int error = 0;  // errno; 0: reached; EPROTO: something else answered
  std::uint32_t round_trip_us = 0;
  NodeRoute route;  // the node's end of the connection
  bool operator==(const ReachResult&) const = default;
};

class ReachRecord {
 public:
  /// `nodes` includes node 0, which listens and does not probe.
  ReachRecord(std::size_t candidates, std::size_t nodes);

  /// Node 0 could not listen on the candidate.
  void not_open(std::size_t candidate, int error) { not_open_[candidate] = error; }
  /// Ignores a second result of the same probe, and a result that is not expected.
  void add(std::size_t node, std::size_t candidate, ReachResult result);
  /// Call it when no more results will arrive: missing ones count as timed out.
  void end();

  enum class State {
    open,      // more results must arrive
    settled,   // the best reachable candidate is known
    likely,    // all nodes reach a candidate, but a better one may still turn out to be reachable
    hopeless,  // every candidate has failed somewhere; more results may arrive
    failed,    // every candidate has failed somewhere, and all results are known
  };
  [[nodiscard]] State state() const;
  /// The best candidate that all nodes have reached so far.
  [[nodiscard]] std::optional<std::size_t> reached() const;

  [[nodiscard]] int open_error(std::size_t candidate) const { return not_open_[candidate]; }
  /// Node 0 could listen on one of the candidates.
  [[nodiscard]] bool is_any_open() const;
  /// nullopt: unknown so far.
  [[nodiscard]] const std::optional<ReachResult>& result(std::size_t node,
                                                         std::size_t candidate) const;
  [[nodiscard]] std::size_t candidates() const { return not_open_.size(); }
  [[nodiscard]] std::size_t nodes() const { return nodes_; }

 private:
  [[nodiscard]] bool has_failed(std::size_t candidate) const;
  [[nodiscard]] bool is_complete(std::size_t candidate) const;

  std::size_t nodes_;
  std::vector<int> not_open_;
  std::vector<std::size_t> reached_by_;  // index = candidate: number of nodes
  std::vector<std::size_t> failed_at_;
  std::vector<std::optional<ReachResult>> results_;  // all nodes of a candidate are adjacent
};

/// The meeting at a candidate that all nodes reached. Its reason names better candidates that some
/// nodes did not reach. Interfaces and addresses are those of the nodes' connections; with
/// `keep_planned` (the job chose interfaces) they are the planned ones where these exist.
[[nodiscard]] Meeting meeting_at(std::size_t candidate, const std::vector<Candidate>& candidates,
                                 const ReachRecord& record, const Cluster& cluster,
                                 bool keep_planned);

/// The nodes that probably cause the failure to meet: those that reach no candidate on which node 0
/// listens, or node 0 itself if more than half of the other nodes reach none. Empty: undecidable,
/// for example with two nodes.
[[nodiscard]] std::vector<std::uint32_t> who_fails_to_meet(const ReachRecord& record);

/// exit_code::kPreflight: no candidate is reached by all nodes. Says for each candidate which nodes
/// failed and why, and what to try.
[[nodiscard]] Error unreachable(const std::vector<Candidate>& candidates, const ReachRecord& record,
                                const Cluster& cluster, std::uint16_t port);

}  // namespace dlaunch
