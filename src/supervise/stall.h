// Whether a job has stopped making progress, judged by what is seen of its ranks from outside.
// Pure: all times come with the values.
//
// The rules:
//  - A rank makes progress when its heartbeat file changes (from the first change on, only that
//    counts), else when the metric `step` changes (likewise), else when it prints. A start and an
//    end of a rank are progress of the job.
//  - The job's silence is the time since its last progress. A node that sends no pulse has nothing
//    to report. If a node does not answer, nothing is known of its ranks, and they are not assumed
//    to be silent.
//  - The longest gap of the job and of each rank is remembered for kRemembered times its length, so
//    that the next evaluation or checkpoint raises no suspicion. The time before a rank's first
//    progress is not learned, nor is a silence that was found to be a hang.
//  - The job is suspected when it has been silent for `after`, and for kPatience times the longest
//    gap of the job and of the most regular rank that is left.
//  - Once a suspicion has been looked into, the next look is due when the silence has doubled.
//    None is due after a hang was found.
//  - After a silence of `hang` the job is given up, whatever was found, but not before it was
//    looked into.
//  - Time in which we did not run (SIGSTOP, a machine that slept) does not count.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job_spec.h"
#include "model/pulse.h"
#include "model/time.h"

namespace dlaunch {

struct StallLimits {
  std::optional<Duration> after;                // watch.after; nullopt: nothing is suspected
  std::optional<Duration> hang;                 // timeouts.hang
  std::optional<std::uint32_t> step_metric{};   // MetricPulse::metric of the metric `step`
  Duration interval = std::chrono::seconds(1);  // within which a node reports a change
};

/// Gaps between signs of progress.
class Rhythm {
 public:
  void add(MonotonicTime gap, MonotonicTime now);
  /// The longest remembered gap; 0: none.
  [[nodiscard]] MonotonicTime longest(MonotonicTime now) const;
  void forget() { gaps_.clear(); }

 private:
  struct Gap {
    MonotonicTime length;
    MonotonicTime seen;
  };
  std::vector<Gap> gaps_;  // at most one for each power of two
};

class StallWatch {
 public:
  static constexpr int kPatience = 2;
  static constexpr int kRemembered = 150;

  enum class State : std::uint8_t {
    idle,     // no rank is running, or nothing is watched
    moving,   // the silence is not suspicious
    looking,  // the silence is being looked into: -> looked()
    told,     // the silence was looked into, and lasts
    given_up  // the job is to end
  };
  enum class Step : std::uint8_t {
    none,
    look,     // find out where the ranks stand, and call looked()
    resumed,  // there is progress again after a stall that was told
    give_up   // silent for `hang`; said once
  };

  explicit StallWatch(const StallLimits& limits) : limits_(limits) {}

  /// An attempt begins. Index = Rank.
  void begin(const std::vector<NodeId>& node_of_rank, MonotonicTime now);
  /// Its ranks are being stopped.
  void end();
  void started(Rank rank, MonotonicTime now);
  void ended(Rank rank, MonotonicTime now);
  /// A pulse of a node of the attempt has arrived. Ranks of other nodes in it are ignored.
  void pulse(NodeId node, std::span<const RankPulse> ranks, MonotonicTime now);

  /// The node has not answered for `silence`; that holds until its next pulse.
  void unheard(NodeId node, Duration silence, MonotonicTime now);

  /// What to do now; call it after each pulse, and at least every `interval`. O(1) while the job
  /// makes progress, else O(ranks).
  [[nodiscard]] Step check(MonotonicTime now);
  /// What Step::look has found. False: there was progress meanwhile, so nothing needs to be said.
  [[nodiscard]] bool looked(bool is_hang, MonotonicTime now);

  [[nodiscard]] State state() const { return state_; }
  /// How long the job has been silent, as far as known.
  [[nodiscard]] MonotonicTime silence() const;
  /// From when on a silence is suspicious, as learned so far. nullopt: never.
  [[nodiscard]] std::optional<MonotonicTime> suspicious_after() const;

 private:
  struct OneRank {
    NodeId node;
    bool has_begun = false;  // a pulse may come before
    bool is_over = false;
    bool beats = false;  // its heartbeat file has changed
    std::string step;    // empty: none was found
    std::uint64_t output = 0;
    std::uint64_t heartbeats = 0;
    std::uint32_t signs = 0;  // of progress
    MonotonicTime last{0};    // the last of them, or its start
    Rhythm rhythm;
    [[nodiscard]] bool runs() const { return has_begun && !is_over; }
  };

  struct OneNode {
    MonotonicTime heard{0};
    bool answers = true;
    std::uint32_t running = 0;  // ranks
  };

  void pass(MonotonicTime now);
  [[nodiscard]] std::optional<MonotonicTime> least_silence() const;
  [[nodiscard]] MonotonicTime known_until(const OneNode& node) const;
  [[nodiscard]] std::string step_of(const RankPulse& seen) const;
  void note(OneRank& rank, std::chrono::milliseconds ago);
  /// `is_sign`: of progress of a rank, not its start or end.
  void moves(MonotonicTime at, bool is_sign);
  [[nodiscard]] bool has_rhythm(const OneRank& rank) const;
  /// Whether the gap counts: shorter ones change nothing.
  [[nodiscard]] bool matters(MonotonicTime gap) const;

  StallLimits limits_;
  State state_ = State::idle;
  std::vector<OneRank> ranks_;
  std::map<NodeId, OneNode> nodes_;
  std::uint32_t running_ = 0;
  MonotonicTime now_{0};  // the time that has passed for us, since the first call
  std::optional<MonotonicTime> clock_;
  MonotonicTime last_{0};  // progress of the job
  bool last_is_sign_ = false;
  Rhythm rhythm_;
  bool moved_while_looking_ = false;
  bool found_hang_ = false;
  bool resumed_ = false;
  MonotonicTime next_look_{0};  // in State::told
};

[[nodiscard]] const char* name_of(StallWatch::State state);

}  // namespace dlaunch
