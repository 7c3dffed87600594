// Notices that the job makes no progress (supervise/stall), takes two snapshots of where its ranks
// stand, and reports the verdict (report/verdict): on the console, in events.jsonl, and with both
// snapshots in stacks/ of the run folder. It decides nothing about the run: it tells the supervisor
// when the job has been silent for timeouts.hang, and it reports progress and stalls to it for the
// account of the run's time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "launch/engine/run_request.h"
#include "launch/engine/run_store.h"
#include "launch/output/screen.h"
#include "launch/questions/stack_rounds.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "os/event_loop.h"
#include "report/stall_seen.h"
#include "supervise/stall.h"
#include "wire/message.h"

namespace dlaunch {

/// The index that MetricPulse::metric has for the metric `name`; nullopt: the job has none.
[[nodiscard]] std::optional<std::uint32_t> metric_index(const JobSpec& spec,
                                                        const std::string& name);

/// The metric's value as a number of steps; nullopt: it cannot be one.
[[nodiscard]] std::optional<std::uint64_t> count_of(const MetricPulse& metric);

/// Lives on the engine's one thread.
class StallSide {
 public:
  using Push = std::function<void(Event)>;
  /// Time between the two snapshots: long enough for everything that works to have moved.
  static constexpr std::chrono::milliseconds kBetween{2000};

  StallSide(EventLoop& loop, const RunOptions& options, StackRounds& rounds, RunStore& store,
            Screen& screen, Push push, std::chrono::milliseconds between = kBetween);

  /// The ranks of the plan were told to start; `plan` must stay valid until end().
  void begin(const LaunchPlan& plan);
  /// The ranks are being stopped, or have ended.
  void end();
  void on(NodeId node, const wire::Pulse& pulse);
  /// The node does not answer.
  void unheard(NodeId node, Duration silence);
  void tell(const Event& event);

  /// The stalls of all attempts, in order.
  [[nodiscard]] const std::vector<StallSeen>& seen() const { return seen_; }

 private:
  void tick();
  void check();
  void look();
  void look_again();
  void judge_both(const StacksReply& second);
  void tell_verdict(StallSeen seen, const StacksReply& second);
  void keep(const StacksReply& reply, WallTime at);
  void tell_resumed();
  void tell_progress(NodeId node, const wire::Pulse& pulse);

  const RunOptions& options_;
  StackRounds& rounds_;
  RunStore& store_;
  Screen& screen_;
  Push push_;
  const StallLimits limits_;
  const std::chrono::milliseconds between_looks_;
  StallWatch watch_;
  Timer tick_;
  Timer between_;
  const LaunchPlan* plan_ = nullptr;   // null: nothing is watched
  bool has_progress_ = false;          // in this attempt, as far as the supervisor was told
  std::optional<std::uint64_t> step_;  // likewise
  bool is_stalled_ = false;            // likewise
  std::uint32_t round_ = 0;
  StacksReply first_;
  WallTime first_at_;
  std::vector<StallSeen> seen_;
};

}  // namespace dlaunch
