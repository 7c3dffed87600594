// What trying the candidate addresses has shown so far, and what follows from it. Thread-safety:
// plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/result.h"
#include "plan/candidates.h"

namespace dlaunch {

/// One node's try of one candidate.
struct ReachResult {
  int error = 0;  // errno; 0: reached; EPROTO: something else answered
  std::uint32_t round_trip_us = 0;
  NodeRoute route;  // of the node's end of the connection
  bool operator==(const ReachResult&) const = default;
};

class ReachRecord {
 public:
  /// `nodes` includes node 0, which opens the door and tries nothing.
  ReachRecord(std::size_t candidates, std::size_t nodes);

  /// Node 0 could not listen at it.
  void not_open(std::size_t candidate, int error) { not_open_[candidate] = error; }
  /// A second result of the same try, and one that nobody asked for, is ignored.
  void add(std::size_t node, std::size_t candidate, ReachResult result);
  /// What has not come counts as timed out.
  void end();

  enum class State {
    open,      // more must come
    settled,   // the best candidate that is reached is known, nothing better can come
    likely,    // one is reached by all, a better one may still be
    hopeless,  // every candidate has failed somewhere; more of where may come
    failed,    // likewise, and all is known
  };
  [[nodiscard]] State state() const;
  /// The best one that all have reached so far.
  [[nodiscard]] std::optional<std::size_t> reached() const;

  [[nodiscard]] int open_error(std::size_t candidate) const { return not_open_[candidate]; }
  /// nullopt: not known yet.
  [[nodiscard]] const std::optional<ReachResult>& result(std::size_t node,
                                                         std::size_t candidate) const;
  [[nodiscard]] std::size_t candidates() const { return not_open_.size(); }
  [[nodiscard]] std::size_t nodes() const { return nodes_; }

 private:
  [[nodiscard]] bool has_failed(std::size_t candidate) const;
  [[nodiscard]] bool is_complete(std::size_t candidate) const;

  std::size_t nodes_;
  std::vector<int> not_open_;
  std::vector<std::size_t> reached_by_;  // by candidate: how many nodes
  std::vector<std::size_t> failed_at_;
  std::vector<std::optional<ReachResult>> results_;  // candidate-major
};

/// The meeting at a candidate that all have reached. Its reason names better candidates that were
/// not. A node's interface and address are those of its connection, unless `keep_planned` (the job
/// chose interfaces) and they are planned.
[[nodiscard]] Meeting meeting_at(std::size_t candidate, const std::vector<Candidate>& candidates,
                                 const ReachRecord& record, const Cluster& cluster,
                                 bool keep_planned);

/// Whose fault it probably is that no candidate is reached by all: the nodes that reach none of
/// those at which node 0 listens, or node 0 where that is more than half of the others. Empty: it
/// cannot be told, as of two nodes.
[[nodiscard]] std::vector<std::uint32_t> who_fails_to_meet(const ReachRecord& record);

/// exit_code::kPreflight: no candidate is reached by all. For each who could not and why, and what
/// to try.
[[nodiscard]] Error unreachable(const std::vector<Candidate>& candidates, const ReachRecord& record,
                                const Cluster& cluster, std::uint16_t port);

}  // namespace dlaunch
