#include "report/culprit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "report/known_causes.h"
#include "supervise/outcome.h"

namespace dlaunch {

namespace {

using How = RankEnd::How;

constexpr std::size_t kMostRanks = 4096;
// If more lines than this follow a traceback, the program survived the error.
constexpr std::size_t kMostLinesAfter = 12;
constexpr std::chrono::milliseconds kTogether{50};

/// Why a rank may be the culprit, in order of preference.
enum class Suspicion : std::uint8_t {
  own_error,       // it reported an error other than the loss of a peer
  same_moment,     // it failed at the same time as the first, as far as clocks show
  left_early,      // it had exited with 0 before the first failure
  signal,          // a signal killed it
  other_code,      // it failed without a message
  code_when_told,  // as other_code, but after dlaunch had told it to stop
};

bool holds(const std::vector<Rank>& ranks, Rank rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool was_told_to_stop(const RankEnd& end) {
  return end.how == How::stopped || end.how == How::killed;
}

bool failed_by_itself(const RankEnd& end) {
  return end.how == How::exited && !end.status.ok();
}

/// Whether dlaunch's own signal causes such an exception, which is then not the program's error.
bool follows_from_a_signal(std::string_view exception) {
  constexpr std::array<std::string_view, 4> kNames{"KeyboardInterrupt", "SystemExit",
                                                   "SignalException", "GracefulExit"};
  const std::string_view name = exception.substr(0, exception.find(':'));
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view one) {
    return name.find(one) != std::string_view::npos;
  });
}

/// For a rank that dlaunch stopped: whether its own error was complete before.
bool had_failed(const Evidence& evidence) {
  return evidence.exception && evidence.lines_after <= kMostLinesAfter &&
         !follows_from_a_signal(*evidence.exception);
}

/// The error of a rank without numbers, because they differ between ranks that fail alike.
std::string error_shape(const Evidence& evidence) {
  std::string text = evidence.exception            ? *evidence.exception
                     : evidence.last_lines.empty() ? std::string()
                                                   : evidence.last_lines.back();
  std::string out;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && !in_number) out += '#';
    in_number = digit;
  }
  return out;
}

class CulpritSearch {
 public:
  CulpritSearch(RunReport& report, const RankEvidence& evidence)
      : report_(report), outcome_(report.outcome), evidence_(evidence) {}

  void run() {
    for (const auto& [rank, evidence] : evidence_) {
      if (rank.value < report_.ranks.size() && find_peer_loss(evidence) != nullptr)
        outcome_.lost_peer.push_back(rank);
    }
    if (holds(outcome_.lost_peer, *outcome_.first)) {
      choose();
    } else {
      std::erase_if(outcome_.perhaps_first,
                    [&](Rank rank) { return holds(outcome_.lost_peer, rank); });
    }
    if (outcome_.left_early.empty()) find_alike();
  }

 private:
  using Key = std::tuple<Suspicion, WallTime, Rank>;

  [[nodiscard]] const Evidence& evidence_of(Rank rank) const {
    static const Evidence kNone;
    const auto found = evidence_.find(rank);
    return found == evidence_.end() ? kNone : found->second;
  }

  [[nodiscard]] const RankEnd& end_of(Rank rank) const { return report_.ranks[rank.value]; }

  [[nodiscard]] std::optional<Suspicion> suspicion_of(Rank rank) const {
    const RankEnd& end = end_of(rank);
    const Evidence& evidence = evidence_of(rank);
    if (holds(outcome_.lost_peer, rank)) return std::nullopt;
    if (was_told_to_stop(end)) {
      if (had_failed(evidence)) return Suspicion::own_error;
      const bool own_code = !end.status.signaled && end.status.value != 0 &&
                            end.status.value <= exit_code::kSignalBase;
      return own_code ? std::optional(Suspicion::code_when_told) : std::nullopt;
    }
    if (end.how != How::exited) return std::nullopt;
    if (end.status.ok()) {
      const bool before = end.ended && end_of(*outcome_.first).ended &&
                          *end.ended <= *end_of(*outcome_.first).ended;
      return before ? std::optional(Suspicion::left_early) : std::nullopt;
    }
    if (evidence.exception) return Suspicion::own_error;
    if (holds(outcome_.perhaps_first, rank)) return Suspicion::same_moment;
    return end.status.signaled ? Suspicion::signal : Suspicion::other_code;
  }

  void choose() {
    std::vector<Key> suspicions;
    for (std::uint32_t i = 0; i < report_.ranks.size(); ++i) {
      const Rank rank(i);
      const auto suspicion = rank == *outcome_.first ? std::nullopt : suspicion_of(rank);
      if (suspicion)
        suspicions.emplace_back(*suspicion, end_of(rank).ended.value_or(WallTime::max()), rank);
    }
    if (suspicions.empty()) return;
    std::sort(suspicions.begin(), suspicions.end());
    const auto [best, at, rank] = suspicions.front();
    outcome_.perhaps_first.clear();
    for (const auto& [suspicion, when, other] : suspicions) {
      if (suspicion != best) break;
      if (best == Suspicion::left_early) {
        outcome_.left_early.push_back(other);
      } else if (other != rank && when - at < kTogether) {
        outcome_.perhaps_first.push_back(other);
      }
    }
    std::sort(outcome_.left_early.begin(), outcome_.left_early.end());
    std::sort(outcome_.perhaps_first.begin(), outcome_.perhaps_first.end());
    if (best != Suspicion::left_early) set_culprit(rank);
  }

  /// If dlaunch's signal ended the rank, its exit code says nothing. The outcome then keeps the
  /// code of the rank that reported the loss of its peer.
  void set_culprit(Rank rank) {
    outcome_.first = rank;
    if (!was_told_to_stop(end_of(rank)) || !end_of(rank).status.signaled)
      set_failed_rank(outcome_, rank, end_of(rank));
  }

  void find_alike() {
    const RankEnd& first = end_of(*outcome_.first);
    const std::string said = error_shape(evidence_of(*outcome_.first));
    for (std::uint32_t i = 0; i < report_.ranks.size(); ++i) {
      const Rank rank(i);
      if (rank == *outcome_.first || !evidence_.contains(rank)) continue;
      const RankEnd& end = end_of(rank);
      const bool same_end = failed_by_itself(end) && failed_by_itself(first) &&
                            end.status.signaled == first.status.signaled &&
                            end.status.code() == first.status.code();
      const bool failed = same_end || (was_told_to_stop(end) && had_failed(evidence_of(rank)));
      if (failed && error_shape(evidence_of(rank)) == said) outcome_.alike.push_back(rank);
    }
    std::erase_if(outcome_.perhaps_first, [&](Rank rank) { return holds(outcome_.alike, rank); });
  }

  const RunReport& report_;
  Outcome& outcome_;
  const RankEvidence& evidence_;
};

}  // namespace

std::vector<Rank> other_evidence_needed(const RunReport& report, const Evidence& first) {
  const bool by_rank =
      report.outcome.cause == Cause::exit_code || report.outcome.cause == Cause::signal;
  if (!by_rank || !report.outcome.first) return {};
  const bool lost_peer = find_peer_loss(first) != nullptr;
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < report.ranks.size() && ranks.size() < kMostRanks; ++i) {
    const RankEnd& end = report.ranks[i];
    if (Rank(i) == *report.outcome.first) continue;
    const bool may_say_more = was_told_to_stop(end) && (lost_peer || first.exception);
    if (failed_by_itself(end) || may_say_more) ranks.emplace_back(i);
  }
  return ranks;
}

void name_culprit(RunReport& report, const RankEvidence& evidence) {
  const bool by_rank =
      report.outcome.cause == Cause::exit_code || report.outcome.cause == Cause::signal;
  if (by_rank && report.outcome.first && report.outcome.first->value < report.ranks.size())
    CulpritSearch(report, evidence).run();
}

std::string collective_of(const Evidence& evidence) {
  constexpr std::string_view kIn = " in ";
  const std::string where = evidence.where.value_or("");
  const std::string inner = where.substr(0, where.find(", called from "));
  const std::size_t at = inner.rfind(kIn);
  const bool is_library = inner.starts_with("torch/distributed/") || inner.starts_with("horovod/");
  return is_library && at != std::string::npos ? inner.substr(at + kIn.size()) : std::string();
}

}  // namespace dlaunch
