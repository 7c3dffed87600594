#include "supervise/stall.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace dlaunch {

namespace {

/// A longer time between two calls means that we did not run.
constexpr int kMissedCalls = 3;

int power_of(MonotonicTime gap) {
  return std::bit_width(static_cast<std::uint64_t>(gap.count()));
}

}  // namespace

const char* name_of(StallWatch::State state) {
  switch (state) {
    case StallWatch::State::idle:
      return "idle";
    case StallWatch::State::moving:
      return "moving";
    case StallWatch::State::looking:
      return "looking";
    case StallWatch::State::told:
      return "told";
    case StallWatch::State::given_up:
      return "given up";
  }
  return "";
}

void Rhythm::add(MonotonicTime gap, MonotonicTime now) {
  std::erase_if(
      gaps_, [&](const Gap& one) { return now - one.seen > StallWatch::kRemembered * one.length; });
  const auto alike = std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& one) {
    return power_of(one.length) == power_of(gap);
  });
  if (alike == gaps_.end()) return gaps_.push_back({gap, now});
  *alike = {std::max(alike->length, gap), now};
}

MonotonicTime Rhythm::longest(MonotonicTime now) const {
  MonotonicTime longest{0};
  for (const Gap& one : gaps_) {
    if (now - one.seen <= StallWatch::kRemembered * one.length)
      longest = std::max(longest, one.length);
  }
  return longest;
}

// ---- what is seen

void StallWatch::begin(const std::vector<NodeId>& node_of_rank, MonotonicTime now) {
  pass(now);
  StallWatch fresh(limits_);
  fresh.now_ = fresh.last_ = now_;
  fresh.clock_ = clock_;
  for (const NodeId node : node_of_rank) {
    fresh.ranks_.emplace_back().node = node;
    fresh.nodes_[node].heard = now_;
  }
  *this = std::move(fresh);
}

void StallWatch::end() {
  state_ = State::idle;
  running_ = 0;
  ranks_.clear();
  nodes_.clear();
  resumed_ = false;
}

void StallWatch::started(Rank rank, MonotonicTime now) {
  pass(now);
  if (rank.value >= ranks_.size() || ranks_[rank.value].has_begun) return;
  OneRank& one = ranks_[rank.value];
  one.has_begun = true;
  one.last = std::max(one.last, now_);
  if (!one.is_over) {
    ++running_;
    ++nodes_.at(one.node).running;
  }
  if (state_ == State::idle && running_ > 0 && (limits_.after || limits_.hang))
    state_ = State::moving;
  moves(now_, false);
}

void StallWatch::ended(Rank rank, MonotonicTime now) {
  pass(now);
  if (rank.value >= ranks_.size() || ranks_[rank.value].is_over) return;
  OneRank& one = ranks_[rank.value];
  if (one.runs()) {
    --running_;
    --nodes_.at(one.node).running;
  }
  one.is_over = true;
  if (running_ == 0 && state_ != State::looking && state_ != State::given_up) state_ = State::idle;
  moves(now_, false);
}

void StallWatch::pulse(NodeId node, std::span<const RankPulse> ranks, MonotonicTime now) {
  pass(now);
  const auto sender = nodes_.find(node);
  if (sender == nodes_.end()) return;
  sender->second.heard = now_;
  sender->second.answers = true;
  for (const RankPulse& seen : ranks) {
    if (seen.rank.value >= ranks_.size() || ranks_[seen.rank.value].node != node) continue;
    OneRank& rank = ranks_[seen.rank.value];
    if (rank.is_over) continue;
    if (seen.heartbeats > rank.heartbeats) {
      rank.heartbeats = seen.heartbeats;
      if (!std::exchange(rank.beats, true)) {
        rank.rhythm.forget();
        rank.signs = 0;
      }
      note(rank, std::chrono::milliseconds(seen.heartbeat_ms));
    } else if (const std::string step = step_of(seen); !rank.beats && !step.empty()) {
      if (step == rank.step) continue;
      if (std::exchange(rank.step, step).empty()) {
        rank.rhythm.forget();
        rank.signs = 0;
      }
      note(rank, std::chrono::milliseconds(seen.quiet_ms));
    } else if (!rank.beats && rank.step.empty() && seen.output > rank.output) {
      rank.output = seen.output;
      note(rank, std::chrono::milliseconds(seen.quiet_ms));
    }
  }
}

void StallWatch::unheard(NodeId node, Duration silence, MonotonicTime now) {
  pass(now);
  const auto quiet = nodes_.find(node);
  if (quiet == nodes_.end()) return;
  quiet->second.heard = now_ - silence;
  quiet->second.answers = false;
}

/// Advances our time by what has passed while we ran.
void StallWatch::pass(MonotonicTime now) {
  const MonotonicTime most =
      kMissedCalls * std::max<MonotonicTime>(limits_.interval, std::chrono::seconds(1));
  if (clock_) now_ += std::clamp(now - *clock_, MonotonicTime(0), most);
  clock_ = now;
}

std::string StallWatch::step_of(const RankPulse& seen) const {
  for (const MetricPulse& one : seen.metrics) {
    if (one.metric == limits_.step_metric) return one.value;
  }
  return "";
}

void StallWatch::note(OneRank& rank, std::chrono::milliseconds ago) {
  const MonotonicTime at = std::max(rank.last, now_ - ago);
  if (rank.signs > 0 && !found_hang_ && matters(at - rank.last))
    rank.rhythm.add(at - rank.last, now_);
  ++rank.signs;
  rank.last = at;
  moves(at, true);
}

void StallWatch::moves(MonotonicTime at, bool is_sign) {
  if (at <= last_) return;
  if (is_sign && last_is_sign_ && !found_hang_ && matters(at - last_))
    rhythm_.add(at - last_, now_);
  last_ = at;
  last_is_sign_ = is_sign;
  if (std::exchange(found_hang_, false)) {
    for (OneRank& one : ranks_) one.last = std::max(one.last, at);
  }
  if (state_ == State::looking) moved_while_looking_ = true;
  if (state_ != State::told) return;
  state_ = State::moving;
  resumed_ = is_sign;
}

// ---- what follows

/// The time up to which the state of the node's ranks is known. A node that answers reports each
/// change in its next pulse.
MonotonicTime StallWatch::known_until(const OneNode& node) const {
  const MonotonicTime report = limits_.interval + limits_.interval / 2;
  return node.answers ? std::max(node.heard, now_ - report) : node.heard;
}

MonotonicTime StallWatch::silence() const {
  MonotonicTime known = now_;
  for (const auto& [id, node] : nodes_) {
    if (node.running > 0) known = std::min(known, known_until(node));
  }
  return std::max(known - last_, MonotonicTime(0));
}

bool StallWatch::matters(MonotonicTime gap) const {
  return limits_.after && kPatience * gap > *limits_.after;
}

/// False for a rank that has become quiet while others went on: its rhythm no longer counts.
bool StallWatch::has_rhythm(const OneRank& rank) const {
  const MonotonicTime quiet = std::max(last_ - rank.last, MonotonicTime(0));
  return rank.runs() && rank.signs > 1 &&
         quiet <= std::max<MonotonicTime>(*limits_.after, kPatience * rank.rhythm.longest(now_));
}

std::optional<MonotonicTime> StallWatch::suspicious_after() const {
  if (!limits_.after) return std::nullopt;
  std::optional<MonotonicTime> most_regular;
  for (const OneRank& one : ranks_) {
    if (!has_rhythm(one)) continue;
    const MonotonicTime its = one.rhythm.longest(now_);
    if (!most_regular || its < *most_regular) most_regular = its;
  }
  const MonotonicTime gap =
      std::max(rhythm_.longest(now_), most_regular.value_or(MonotonicTime(0)));
  return std::max<MonotonicTime>(*limits_.after, kPatience * gap);
}

/// The silence of the job before which nothing is due; nullopt: nothing ever is.
std::optional<MonotonicTime> StallWatch::least_silence() const {
  std::optional<MonotonicTime> look = limits_.after;
  if (state_ == State::told && found_hang_) look.reset();
  if (state_ == State::told && look) look = next_look_;
  if (!limits_.hang) return look;
  return std::min<MonotonicTime>(look.value_or(*limits_.hang), *limits_.hang);
}

StallWatch::Step StallWatch::check(MonotonicTime now) {
  pass(now);
  if (std::exchange(resumed_, false)) return Step::resumed;
  if (state_ != State::moving && state_ != State::told) return Step::none;
  const auto least = least_silence();
  if (!least || now_ - last_ < *least) return Step::none;
  const MonotonicTime silent = silence();
  const bool is_over = limits_.hang && silent >= *limits_.hang;
  if (state_ == State::told && is_over) {
    state_ = State::given_up;
    return Step::give_up;
  }
  const auto suspicious = suspicious_after();
  const bool is_due = state_ == State::told ? !found_hang_ && limits_.after && silent >= next_look_
                                            : suspicious && silent >= *suspicious;
  if (!is_due && !is_over) return Step::none;
  state_ = State::looking;
  moved_while_looking_ = false;
  return Step::look;
}

bool StallWatch::looked(bool is_hang, MonotonicTime now) {
  pass(now);
  if (state_ != State::looking) return false;
  if (running_ == 0 || moved_while_looking_) {
    state_ = running_ == 0 ? State::idle : State::moving;
    return false;
  }
  state_ = State::told;
  found_hang_ = is_hang;
  next_look_ = 2 * silence();
  return true;
}

}  // namespace dlaunch
