#include "report/culprit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "report/peer_loss.h"
#include "supervise/diagnosis.h"

namespace dlaunch {

namespace {

using How = RankEnd::How;

constexpr std::size_t kMostRanks = 4096;
// If many lines follow a traceback, the program survived that error.
constexpr std::size_t kMostLinesAfter = 12;
constexpr std::chrono::milliseconds kTogether{50};

/// In order of preference.
enum class Claim : std::uint8_t {
  own_error,       // it reported an error other than a lost peer
  same_moment,     // it failed as early as the first, as far as clocks tell
  left_early,      // it had left with 0 before
  signal,          // a signal killed it, soon after
  other_code,      // it failed without a message, soon after
  code_when_told,  // as before, but dlaunch had told it to stop
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

/// An error that dlaunch's own signal causes does not count as the program's error.
bool follows_from_a_signal(std::string_view exception) {
  constexpr std::array<std::string_view, 4> kNames{"KeyboardInterrupt", "SystemExit",
                                                   "SignalException", "GracefulExit"};
  const std::string_view name = exception.substr(0, exception.find(':'));
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view one) {
    return name.find(one) != std::string_view::npos;
  });
}

/// For a rank that dlaunch stopped: whether its own error was complete before that.
bool had_failed(const Evidence& words) {
  return words.exception && words.lines_after <= kMostLinesAfter &&
         !follows_from_a_signal(*words.exception);
}

/// What a rank said, without the numbers in which ranks that fail alike differ.
std::string statement(const Evidence& words) {
  std::string text = words.exception            ? *words.exception
                     : words.last_lines.empty() ? std::string()
                                                : words.last_lines.back();
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

class Judge {
 public:
  Judge(RunReport& report, const RankWords& words) : report_(report), words_(words) {}

  void judge() {
    for (const auto& [rank, words] : words_) {
      if (rank.value < report_.ranks.size() && find_peer_loss(words) != nullptr)
        report_.lost_peer.push_back(rank);
    }
    if (holds(report_.lost_peer, *report_.first)) {
      choose();
    } else {
      std::erase_if(report_.perhaps_first,
                    [&](Rank rank) { return holds(report_.lost_peer, rank); });
    }
    if (report_.left_early.empty()) find_alike();
  }

 private:
  using Key = std::tuple<Claim, WallTime, Rank>;

  [[nodiscard]] const Evidence& words_of(Rank rank) const {
    static const Evidence kNone;
    const auto found = words_.find(rank);
    return found == words_.end() ? kNone : found->second;
  }

  [[nodiscard]] const RankEnd& end_of(Rank rank) const { return report_.ranks[rank.value]; }

  [[nodiscard]] std::optional<Claim> claim_of(Rank rank) const {
    const RankEnd& end = end_of(rank);
    const Evidence& words = words_of(rank);
    if (holds(report_.lost_peer, rank)) return std::nullopt;
    if (was_told_to_stop(end)) {
      if (had_failed(words)) return Claim::own_error;
      const bool own_code = !end.status.signaled && end.status.value != 0 &&
                            end.status.value <= exit_code::kSignalBase;
      return own_code ? std::optional(Claim::code_when_told) : std::nullopt;
    }
    if (end.how != How::exited) return std::nullopt;
    if (end.status.ok()) {
      const bool before =
          end.ended && end_of(*report_.first).ended && *end.ended <= *end_of(*report_.first).ended;
      return before ? std::optional(Claim::left_early) : std::nullopt;
    }
    if (words.exception) return Claim::own_error;
    if (holds(report_.perhaps_first, rank)) return Claim::same_moment;
    return end.status.signaled ? Claim::signal : Claim::other_code;
  }

  void choose() {
    std::vector<Key> claims;
    for (std::uint32_t i = 0; i < report_.ranks.size(); ++i) {
      const Rank rank(i);
      const auto claim = rank == *report_.first ? std::nullopt : claim_of(rank);
      if (claim) claims.emplace_back(*claim, end_of(rank).ended.value_or(WallTime::max()), rank);
    }
    if (claims.empty()) return;
    std::sort(claims.begin(), claims.end());
    const auto [best, at, rank] = claims.front();
    report_.perhaps_first.clear();
    for (const auto& [claim, when, other] : claims) {
      if (claim != best) break;
      if (best == Claim::left_early) {
        report_.left_early.push_back(other);
      } else if (other != rank && when - at < kTogether) {
        report_.perhaps_first.push_back(other);
      }
    }
    std::sort(report_.left_early.begin(), report_.left_early.end());
    std::sort(report_.perhaps_first.begin(), report_.perhaps_first.end());
    if (best != Claim::left_early) blame(rank);
  }

  /// The exit code of a rank that died of dlaunch's signal says nothing: then the code of the rank
  /// that lost it stays.
  void blame(Rank rank) {
    report_.first = rank;
    if (!was_told_to_stop(end_of(rank)) || !end_of(rank).status.signaled)
      explain_by_rank(rank, report_);
  }

  void find_alike() {
    const RankEnd& first = end_of(*report_.first);
    const std::string said = statement(words_of(*report_.first));
    for (std::uint32_t i = 0; i < report_.ranks.size(); ++i) {
      const Rank rank(i);
      if (rank == *report_.first || !words_.contains(rank)) continue;
      const RankEnd& end = end_of(rank);
      const bool same_end = failed_by_itself(end) && failed_by_itself(first) &&
                            end.status.signaled == first.status.signaled &&
                            end.status.code() == first.status.code();
      const bool failed = same_end || (was_told_to_stop(end) && had_failed(words_of(rank)));
      if (failed && statement(words_of(rank)) == said) report_.alike.push_back(rank);
    }
    std::erase_if(report_.perhaps_first, [&](Rank rank) { return holds(report_.alike, rank); });
  }

  RunReport& report_;
  const RankWords& words_;
};

}  // namespace

std::vector<Rank> other_words_needed(const RunReport& report, const Evidence& first) {
  const bool by_rank = report.cause == Cause::exit_code || report.cause == Cause::signal;
  if (!by_rank || !report.first) return {};
  const bool lost_peer = find_peer_loss(first) != nullptr;
  std::vector<Rank> ranks;
  for (std::uint32_t i = 0; i < report.ranks.size() && ranks.size() < kMostRanks; ++i) {
    const RankEnd& end = report.ranks[i];
    if (Rank(i) == *report.first) continue;
    const bool may_say_more = was_told_to_stop(end) && (lost_peer || first.exception);
    if (failed_by_itself(end) || may_say_more) ranks.push_back(Rank(i));
  }
  return ranks;
}

void name_culprit(RunReport& report, const RankWords& words) {
  const bool by_rank = report.cause == Cause::exit_code || report.cause == Cause::signal;
  if (by_rank && report.first && report.first->value < report.ranks.size())
    Judge(report, words).judge();
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
