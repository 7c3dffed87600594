// Looks at the ranks of this node from outside, at fixed intervals, and reports what has changed.
// Costs little: one small file of /proc per process and look, and the rest at every fifth or
// sixtieth look or, for the node, every 10 s. The agent's heartbeat calls it, so it needs wake-ups
// of its own only if looks are more frequent than heartbeats.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "node/output/output_pump.h"
#include "node/stacks/stack_source.h"
#include "node/watch/gpu_watch.h"
#include "node/watch/output_reader.h"
#include "node/watch/proc_text.h"
#include "node/watch/process_tree.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread. An attempt: begin() for each message that starts ranks, look()
/// at each heartbeat, end().
class RankWatch {
 public:
  /// The ranks that run now, with their first processes.
  using Running = std::function<std::vector<RankProcess>()>;
  using Report = std::function<void(const wire::Pulse&)>;

  RankWatch(EventLoop& loop, const OutputPump& pump, Report report)
      : pump_(pump), report_(std::move(report)), own_time_(loop), gpus_(loop) {}

  /// `heartbeat`: how often look() is called. `login`: the agent's environment.
  void begin(const wire::StartRanks& start, std::chrono::milliseconds heartbeat,
             const Environment& login, Running running);
  /// Does nothing before the next look is due.
  void look();
  /// The attempt is over. Returns processes of this watch that may still exist; they are not the
  /// job's.
  std::set<pid_t> end();

 private:
  struct Watched {
    std::uint32_t local_rank = 0;
    std::optional<std::string> visible_gpus;
    std::string heartbeat_file;
    std::int64_t heartbeat_at = 0;  // the time of the file's last change, as the file system has it
    MonotonicTime heartbeat_seen{0};
    MonotonicTime last_output{0};
    std::uint64_t written[2] = {0, 0};
    std::optional<ProcessTree> processes;
    OutputReader output;
    RankPulse told;  // what the launcher knows
  };

  void look_and_wait();
  void look_now(MonotonicTime now);
  void look_at(Watched& watched, pid_t pid, Depth depth, MonotonicTime now, RankPulse& rank) const;
  void look_at_output(Watched& watched, RankPulse& rank) const;
  static void look_at_heartbeat(Watched& watched, MonotonicTime now, RankPulse& rank);
  void look_at_node(MonotonicTime now);
  void look_for_cpu_waits(std::chrono::milliseconds passed);
  [[nodiscard]] Depth depth(bool with_node) const;

  const OutputPump& pump_;
  Report report_;
  Timer own_time_;  // for looks that are more frequent than heartbeats
  GpuWatch gpus_;
  Running running_;
  Attempt attempt_;
  std::chrono::milliseconds every_{0};  // 0: nothing is watched
  std::chrono::milliseconds heartbeat_{0};
  MonotonicTime began_{0};
  MonotonicTime looked_{0};
  std::uint32_t looks_ = 0;
  std::shared_ptr<const MetricPatterns> patterns_;
  std::map<Rank, Watched> ranks_;
  NodePulse node_;
  MonotonicTime node_looked_{0};
  std::uint64_t node_busy_ = 0;  // CpuTime::busy then
  std::uint64_t ranks_ms_ = 0;   // CPU time of all ranks then
};

}  // namespace dlaunch
