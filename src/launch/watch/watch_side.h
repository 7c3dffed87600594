// Keeps the latest state of each rank and node, as the agents see it while the ranks run
// (model/pulse.h). Decides nothing about the run: it gets events after the supervisor has got them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/action.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "model/status.h"
#include "model/time.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread. Times are those of os/clock.h.
class WatchSide {
 public:
  /// `metrics`: their names, in the order of StartRanks::metrics.
  WatchSide(bool is_watched, std::vector<std::string> metrics)
      : is_watched_(is_watched), metrics_(std::move(metrics)) {}

  /// The ranks of this plan are being told to start.
  void begin(const LaunchPlan& plan, MonotonicTime now);
  /// An agent's pulse counts only for its own ranks, and only in this attempt.
  void on(NodeId node, const wire::Pulse& pulse, MonotonicTime now);
  void tell(const Event& event);
  void tell(const action::Restart&) { state_ = "waiting to restart"; }
  void set_stopping() { state_ = "stopping"; }

  /// The reply without the fields that only the engine knows: the run's id, name and age.
  [[nodiscard]] StatusReply status(MonotonicTime now) const;

 private:
  struct Mark {
    MonotonicTime at{0};
    std::uint64_t cpu_ms = 0;
  };
  struct SeenRank {
    std::uint32_t node = 0;  // index of nodes_
    bool started = false;
    std::string end;
    RankPulse pulse;
    MonotonicTime heard{0};  // when the pulse arrived; 0: none has arrived
    Mark older, newer;       // the marks between which its CPU time is measured
  };
  struct SeenNode {
    NodeId id;
    std::string name;
    NodePulse pulse;
    MonotonicTime heard;
    std::vector<Rank> ranks{};
  };

  [[nodiscard]] SeenRank* find(Attempt attempt, Rank rank);
  [[nodiscard]] RankStatus status_of(const SeenRank& rank, MonotonicTime now) const;

  const bool is_watched_;
  const std::vector<std::string> metrics_;
  std::string state_ = "preparing";
  Attempt attempt_;
  MonotonicTime began_{0};  // of the attempt; 0: none has begun
  std::vector<SeenNode> nodes_;
  std::map<NodeId, std::uint32_t> places_;  // index of nodes_
  std::vector<SeenRank> ranks_;  // index = Rank
};

}  // namespace dlaunch
