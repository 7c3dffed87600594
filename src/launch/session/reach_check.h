// Finds the address of node 0 at which all nodes meet, by testing, before the plan of an attempt is
// made: node 0 listens at its candidates, the others connect, and the best one that all have
// reached is taken. Node 0 exchanges only some bytes per node and candidate, so hundreds of nodes
// cost it milliseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "os/event_loop.h"
#include "plan/reach.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread. It must not be destroyed from within `done`.
class ReachCheck {
 public:
  struct Callbacks {
    std::function<void(NodeId, const wire::ToAgent&)> send;
    /// Called once, unless cancel() comes first.
    std::function<void(Result<Meeting>)> done;
  };

  ReachCheck(EventLoop& loop, Callbacks callbacks)
      : callbacks_(std::move(callbacks)), limit_(loop), patience_(loop) {}

  /// Tests for all of `nodes`, two or more; the first one listens. Takes at most three quarters of
  /// `timeouts.connect`, and at most 10 s. A test in progress is abandoned.
  void begin(const JobSpec& spec, Cluster nodes);
  void cancel();

  /// After a test that found no common address: who_fails_to_meet().
  [[nodiscard]] const std::vector<NodeId>& failing() const { return failing_; }
  /// After such a test between two nodes: both, if the first one could listen at all.
  [[nodiscard]] const std::vector<NodeId>& either() const { return either_; }

  void on(NodeId node, const wire::DoorOpen& open);
  void on(NodeId node, const wire::Knocked& knocked);

 private:
  [[nodiscard]] bool is_unchecked() const;
  void open_door();
  void look();
  void settle();
  void close();
  void finish(Result<Meeting> result);

  Callbacks callbacks_;
  Timer limit_;
  Timer patience_;
  bool under_way_ = false;
  bool is_patient_ = false;
  bool keep_planned_ = false;
  std::uint32_t last_id_ = 0;
  wire::Knock knock_;
  Cluster nodes_;
  std::vector<Candidate> candidates_;
  std::optional<ReachRecord> record_;
  std::vector<NodeId> failing_;
  std::vector<NodeId> either_;
};

}  // namespace dlaunch
