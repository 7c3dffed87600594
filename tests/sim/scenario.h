// A scenario: everything that will go wrong in one simulated run, drawn from a seed before it
// starts.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "model/exit_status.h"
#include "model/ids.h"
#include "model/time.h"
#include "supervise/supervisor.h"

namespace dlaunch::sim {

/// What a rank does if undisturbed, and what it does when it is told to stop.
struct RankFate {
  NodeId node;
  bool cannot_start = false;
  StartFailure start_failure{StartFailure::Step::execute, 2, "x", ""};  // if so
  MonotonicTime runs_for{};  // from its start; max: until it is stopped
  ExitStatus status;
  bool ignores_stop = false;
  MonotonicTime stop_takes{};
  ExitStatus stop_status;
  bool port_taken = false;  // causes its failure, and its agent reports it
  // If mpirun starts it:
  bool never_begins = false;
  bool outlives_mpirun = false;  // until its agent gives it up
  MonotonicTime left_takes{};    // to its end, once mpirun is gone
  ExitStatus left_status;
};

/// mpirun on node 0, which starts the ranks and ends when all have succeeded, or when stopped.
struct MpirunFate {
  /// Since its start, whatever the ranks do; max: never. Not in the last attempt.
  MonotonicTime dies_at = MonotonicTime::max();
  ExitStatus status;  // of that end; 0: its code was lost
  bool ignores_stop = false;
  MonotonicTime end_takes{};
};

/// How long an agent keeps a rank alive whose mpirun is gone (node/mpi/mpirun_service.cc).
inline constexpr MonotonicTime kGivenUp = std::chrono::seconds(5);

/// How long an agent without contact keeps its ranks running (node/session/lease.h).
inline constexpr MonotonicTime kFence = std::chrono::seconds(13);

/// Both ends belong to it.
struct Span {
  MonotonicTime from{};
  MonotonicTime to{};
};
/// `at`, or the first moment after the spans that it falls into.
[[nodiscard]] MonotonicTime after(const std::vector<Span>& spans, MonotonicTime at);

/// The node's wall clock is set, or the launcher's, which has the same effect.
struct ClockStep {
  MonotonicTime at{};
  std::chrono::nanoseconds by{};
};
/// Until a heartbeat has measured a clock that was set (launch/session/node_clock.h).
inline constexpr MonotonicTime kClockUnknown = std::chrono::seconds(1);

/// The node is lost to the launcher. A further death while it is away changes nothing.
struct Death {
  MonotonicTime at{};  // since the start of the run
  MonotonicTime seen_after{};
  bool cut = false;  // its ranks keep running until they are fenced; else everything ends at once
  std::optional<MonotonicTime> returns_after;  // from when on it can be connected; never
  bool answers_not = false;                    // the first agent after its return
};

struct NodeFate {
  enum class Connect { answers, refuses, silent };
  Connect connect = Connect::answers;
  MonotonicTime connect_takes{};
  MonotonicTime latency{};                  // mean, of each message in both directions
  std::chrono::nanoseconds clock_offset{};  // after correction
  std::chrono::nanoseconds clock_error{};   // maximum of clock_offset, in both directions
  std::vector<Death> deaths;                // in the order of their times
  std::vector<Span> outages;  // its connection breaks, and is resumed: messages come after it
  std::vector<Span> freezes;  // nothing happens there, as on a suspended machine; not long enough
                              // to be lost
  std::vector<ClockStep> clock_steps;
  bool never_empties = false;
  MonotonicTime emptying_takes{};
  std::uint32_t leftovers = 0;
};

struct Interruption {
  MonotonicTime at{};
  int signal = 0;  // 0: the front has ended
};

/// What the launcher notices of the ranks of the attempt that runs then.
struct Sign {
  MonotonicTime at{};
  std::optional<Duration> silence;    // a stall; else progress
  std::optional<std::uint64_t> step;  // of progress
};

/// A node of the attempt that runs then is about to be taken away.
struct TakenAway {
  MonotonicTime at{};
  NodeId node;
  std::optional<Duration> left;
};

struct Scenario {
  std::uint64_t seed = 0;
  SupervisorConfig config;
  std::vector<RankFate> ranks;  // of the first attempt; index = Rank
  /// Those of the attempts after it. In the last of them, and all that follow, every rank succeeds.
  std::vector<std::vector<RankFate>> later;
  std::vector<bool> decides;  // see event::PlanMade
  std::optional<MpirunFate> mpirun;
  std::vector<NodeFate> nodes;
  std::vector<Interruption> interruptions;
  std::vector<Sign> signs;
  std::vector<MonotonicTime> hangs;  // no progress for timeouts.hang, as the launcher reports it
  std::vector<TakenAway> notices;  // where no node could take its place
  bool plan_fails = false;
  MonotonicTime launcher_lag{};  // maximum lateness for a deadline
  std::vector<Span> pauses;      // the launcher is suspended, and comes late for everything
  double duplicates = 0;         // chance that a message comes twice
  double strays = 0;             // chance that a message of another attempt comes first
  /// Lost nodes are waited for.
  [[nodiscard]] bool waits_for_nodes() const;
  /// Ranks run on as many nodes of the set as are wanted, and lost nodes may be left out of it.
  [[nodiscard]] bool has_spares() const { return config.nodes_needed > 0; }
  /// The sum of all that only takes time.
  [[nodiscard]] MonotonicTime longest_disturbance() const;
  /// The launcher's maximum lateness.
  [[nodiscard]] MonotonicTime lateness() const;
  /// All nodes' clocks are exact.
  [[nodiscard]] bool clocks_are_exact() const;
  /// A clock is set during the run.
  [[nodiscard]] bool has_clock_steps() const;
  [[nodiscard]] const std::vector<RankFate>& ranks_of(Attempt) const;
  /// In this attempt mpirun may die.
  [[nodiscard]] bool mpirun_may_die_in(Attempt) const;
  /// The longest that one attempt may take from its connect to its end, whatever happens.
  [[nodiscard]] MonotonicTime longest_attempt() const;
};

/// The same seed gives the same scenario. At most `max_ranks` ranks; small ones are as frequent as
/// large.
[[nodiscard]] Scenario draw_scenario(std::uint64_t seed, std::uint32_t max_ranks);

/// The same with 2 to 64 nodes, mostly few, some of them spares, many deaths and notices, and
/// restarts.
[[nodiscard]] Scenario draw_spares_scenario(std::uint64_t seed);

/// Adds what disturbs without being a loss: pauses of the launcher, connections that are resumed,
/// frozen nodes, clocks that are set, and full disks. For draw_scenario().
void draw_disturbances(Scenario& scenario, MonotonicTime all_end_at);

/// For all randomness of the simulation, independent of the library's distributions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + engine_() % (high - low + 1);
  }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1.0p-53 < p; }
  MonotonicTime time(MonotonicTime low, MonotonicTime high) {
    return MonotonicTime(static_cast<std::int64_t>(between(
        static_cast<std::uint64_t>(low.count()), static_cast<std::uint64_t>(high.count()))));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace dlaunch::sim
