// Names the ranks that are slower than the others while the job runs (supervise/slow_ranks), with
// what is unusual about their nodes. Decides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/engine/run_request.h"
#include "launch/output/screen.h"
#include "launch/session/nodes.h"
#include "launch/watch/stall_side.h"
#include "model/event.h"
#include "model/launch_plan.h"
#include "supervise/slow_ranks.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class SlowSide {
 public:
  SlowSide(const RunOptions& options, const Nodes& nodes, Screen& screen)
      : options_(options),
        nodes_(nodes),
        screen_(screen),
        step_(metric_index(options.spec, "step")),
        step_time_(metric_index(options.spec, "step_time")) {}

  /// The ranks of the plan were told to start; `plan` must stay valid until end().
  void begin(const LaunchPlan& plan);
  void end() { plan_ = nullptr; }
  void on(NodeId node, const wire::Pulse& pulse);
  void tell(const Event& event);

 private:
  void note(const RankPulse& rank);
  void tell_change(const SlowRanks::Change& change);

  const RunOptions& options_;
  const Nodes& nodes_;
  Screen& screen_;
  const std::optional<std::uint32_t> step_;
  const std::optional<std::uint32_t> step_time_;
  const LaunchPlan* plan_ = nullptr;
  SlowRanks ranks_{std::chrono::seconds(60)};
  std::set<Rank> ended_;
  std::map<NodeId, NodePulse> pulses_;  // their last pulses
  std::vector<std::uint64_t> output_;   // index = Rank: RankPulse::output of their last pulses
};

/// "rank 5 on node2 is slow: its steps take 1.8 times as long as the median of the other ranks;
/// node2: GPU 3: ..."; `oddities`: what is unusual about the node; empty: the part after ";" is
/// left out.
[[nodiscard]] std::string slow_text(const SlowRanks::Change& change, const std::string& host,
                                    const std::string& oddities);

}  // namespace dlaunch
