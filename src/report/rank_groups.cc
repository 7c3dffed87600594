#include "report/rank_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "model/rank_list.h"
#include "text/duration_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using std::chrono::nanoseconds;
using How = RankEnd::How;
using Ranks = std::vector<Rank>;

// If there are more kinds of failure or more lost nodes than this, the rest is only counted.
constexpr std::size_t kMaxFailureKinds = 3;
constexpr std::size_t kMaxLostNodes = 2;

/// Ranks that failed by themselves in the same way, and how long after the first failure.
struct FailureGroup {
  Ranks ranks;
  ExitStatus status;
  std::optional<nanoseconds> soonest;  // nullopt: unknown
  std::optional<nanoseconds> latest;
};

bool holds(const Ranks& ranks, Rank rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

std::string subject(const Ranks& ranks) {
  return (ranks.size() == 1 ? "rank " : "") + rank_ranges(ranks);
}
std::string was(const Ranks& ranks) {
  return ranks.size() == 1 ? " was " : " were ";
}

/// Like describe(ExitStatus), but a little shorter.
std::string short_end(const ExitStatus& status) {
  return status.signaled ? describe(status) : "exited with " + std::to_string(status.value);
}

class Grouping {
 public:
  Grouping(const RunReport& report, const LaunchPlan* plan)
      : report_(report), outcome_(report.outcome), plan_(plan) {
    for (std::uint32_t i = 0; i < report.ranks.size(); ++i) {
      const RankEnd& end = report.ranks[i];
      if (is_in_headline(Rank(i))) continue;
      if (end.how == How::exited && !end.status.ok()) {
        add_failure(Rank(i), end);
      } else if (end.how == How::exited && is_straggler(Rank(i))) {
        late_.push_back(Rank(i));
      } else {
        by_how_[end.how].push_back(Rank(i));
      }
    }
  }

  [[nodiscard]] std::vector<std::string> phrases() const {
    std::vector<std::string> out = failures();
    add_killed(out);
    add_lost(out);
    add(out, How::cannot_start, "could not be started");
    if (const Ranks* ranks = find(How::stopped)) {
      out.push_back(subject(*ranks) + was(*ranks) + "stopped by dlaunch");
    }
    // These ranks ended after the time limit, but before the signal reached them.
    if (!late_.empty()) out.push_back(subject(late_) + " exited with 0 when told to stop");
    add(out, How::exited, "had succeeded");
    if (const Ranks* ranks = find(How::not_started)) {
      out.push_back(subject(*ranks) + was(*ranks) + "not started");
    }
    return out;
  }

 private:
  [[nodiscard]] const Ranks* find(How how) const {
    const auto found = by_how_.find(how);
    return found == by_how_.end() ? nullptr : &found->second;
  }
  void add(std::vector<std::string>& out, How how, const char* what) const {
    if (const Ranks* ranks = find(how)) out.push_back(subject(*ranks) + ' ' + what);
  }

  [[nodiscard]] bool is_in_headline(Rank rank) const {
    // If other ranks left early, the line "why" names the first that failed.
    return outcome_.first == rank || holds(outcome_.alike, rank) ||
           holds(outcome_.left_early, rank);
  }
  [[nodiscard]] bool is_straggler(Rank rank) const { return holds(outcome_.stragglers, rank); }

  [[nodiscard]] std::optional<nanoseconds> after_first(const RankEnd& end) const {
    if (!outcome_.first || outcome_.first->value >= report_.ranks.size()) return std::nullopt;
    const RankEnd& first = report_.ranks[outcome_.first->value];
    if (!first.ended || !end.ended) return std::nullopt;
    return *end.ended - *first.ended;
  }

  void add_failure(Rank rank, const RankEnd& end) {
    const bool is_tie = holds(outcome_.perhaps_first, rank);
    const bool follows = holds(outcome_.lost_peer, rank);
    FailureGroup& group = failures_[{is_tie, follows, end.status.code(), end.status.signaled}];
    group.ranks.push_back(rank);
    group.status = end.status;
    const auto after = after_first(end);
    if (!after) return;
    group.soonest = std::min(group.soonest.value_or(*after), *after);
    group.latest = std::max(group.latest.value_or(*after), *after);
  }

  struct Kind {
    bool is_tie = false;
    bool follows = false;  // its error says that another rank was gone
    int code = 0;
    bool signaled = false;
    // See model/ids.h.
    auto operator<=>(const Kind&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  [[nodiscard]] static std::string when(const Kind& kind, const FailureGroup& group) {
    if (kind.is_tie) return " at the same time";
    if (kind.follows) return ": another rank was gone";
    if (!group.soonest || *group.soonest < nanoseconds{0}) return "";
    const std::string soonest = duration_text(*group.soonest);
    const std::string latest = duration_text(*group.latest);
    if (latest == "0 s") return " at the same time";
    return " after " + (soonest == latest ? latest : soonest + " to " + latest);
  }

  [[nodiscard]] std::vector<std::string> failures() const {
    std::vector<std::pair<nanoseconds, std::string>> sorted;
    for (const auto& [kind, group] : failures_) {
      const std::string who =
          (group.ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(group.ranks);
      std::string end = short_end(group.status);
      if (group.ranks.size() > 1 && kind.signaled) end.replace(0, 3, "were");
      sorted.emplace_back(
          kind.is_tie ? nanoseconds::min() : group.soonest.value_or(nanoseconds::max()),
          who + ' ' + end + when(kind, group));
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> out;
    for (auto& [time, phrase] : sorted) {
      if (out.size() == kMaxFailureKinds) {
        out.push_back("others failed in " + std::to_string(sorted.size() - kMaxFailureKinds) +
                      " more ways");
        break;
      }
      out.push_back(std::move(phrase));
    }
    return out;
  }

  void add_killed(std::vector<std::string>& out) const {
    const Ranks* ranks = find(How::killed);
    if (ranks == nullptr) return;
    std::optional<nanoseconds> latest;
    for (const Rank rank : *ranks) {
      const auto after = after_first(report_.ranks[rank.value]);
      if (after) latest = std::max(latest.value_or(*after), *after);
    }
    std::string text = subject(*ranks);
    // After Ctrl-C, a second Ctrl-C may have caused the kill; otherwise the grace time had ended.
    if (outcome_.cause != Cause::cancelled) text += " did not stop and";
    text += was(*ranks) + "killed by dlaunch";
    if (latest) text += " after " + duration_text(*latest);
    out.push_back(std::move(text));
  }

  void add_lost(std::vector<std::string>& out) const {
    const Ranks* ranks = find(How::lost);
    if (ranks == nullptr) return;
    std::map<std::string, Ranks> by_node;
    for (const Rank rank : *ranks) by_node[node_name(rank)].push_back(rank);
    if (by_node.size() > kMaxLostNodes || by_node.contains("")) {
      out.push_back(
          subject(*ranks) + was(*ranks) + "lost with " +
          (by_node.contains("") ? "their node" : std::to_string(by_node.size()) + " nodes"));
      return;
    }
    for (const auto& [node, lost] : by_node) {
      out.push_back(subject(lost) + was(lost) + "lost with " + node);
    }
  }

  [[nodiscard]] std::string node_name(Rank rank) const {
    if (plan_ == nullptr || rank.value >= plan_->ranks.size()) return "";
    const std::uint32_t node = plan_->ranks[rank.value].node.value;
    return node < plan_->nodes.size() ? plan_->nodes[node].name : "";
  }

  const RunReport& report_;
  const Outcome& outcome_;
  const LaunchPlan* plan_;
  std::map<How, Ranks> by_how_;
  Ranks late_;  // stragglers that succeeded after all
  std::map<Kind, FailureGroup> failures_;
};

}  // namespace

std::vector<std::string> describe_others(const RunReport& report, const LaunchPlan* plan) {
  return Grouping(report, plan).phrases();
}

std::string count_ends(const RunReport& report) {
  std::size_t ok = 0, failed = 0, stopped = 0, killed = 0, lost = 0, not_started = 0;
  for (const RankEnd& end : report.ranks) {
    switch (end.how) {
      case How::exited:
        ++(end.status.ok() ? ok : failed);
        break;
      case How::stopped:
        ++stopped;
        break;
      case How::killed:
        ++killed;
        break;
      case How::lost:
        ++lost;
        break;
      case How::cannot_start:
        ++failed;
        break;
      case How::not_started:
        ++not_started;
        break;
    }
  }
  std::string out;
  const auto say = [&](std::size_t count, const char* what) {
    if (count == 0) return;
    out += out.empty() ? counted(count, "rank") : ", " + std::to_string(count);
    out += std::string(" ") + what;
  };
  say(ok, "ok");
  say(failed, "failed");
  say(stopped, "stopped");
  say(killed, "killed");
  say(lost, "lost");
  say(not_started, "not started");
  return out;
}

}  // namespace dlaunch
