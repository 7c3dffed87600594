#include "report/verdict.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "report/stack_tree.h"
#include "report/standing.h"
#include "report/verdict_text.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Why = Standing::Why;
using Group = StandingGroup;

auto key_of(const Standing& one) {
  return std::tie(one.why, one.operation, one.function, one.path, one.detail, one.is_busy);
}

/// The groups, ordered by how informative their reason is, then by size, largest first.
std::vector<Group> groups_of(const Group& standings) {
  std::vector<Group> groups;
  for (const Standing* one : standings) {
    // Waiting ranks are alike if they wait in the same operation and place, regardless of what they
    // do while they wait.
    const auto alike = [one](const Group& group) {
      const Standing& other = *group.front();
      return one->why == Why::ranks && other.why == Why::ranks
                 ? std::tie(one->operation, one->path) == std::tie(other.operation, other.path)
                 : key_of(*one) == key_of(other);
    };
    const auto found = std::find_if(groups.begin(), groups.end(), alike);
    found == groups.end() ? groups.push_back({one}) : found->push_back(one);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    return std::pair(a.front()->why, b.size()) < std::pair(b.front()->why, a.size());
  });
  return groups;
}

class Judge {
 public:
  Judge(const StacksReply& first, const StacksReply& second, std::chrono::milliseconds silence,
        const std::vector<NodeOfRanks>& nodes)
      : second_(second), nodes_(nodes), time_(time_text_of(silence)) {
    std::map<Rank, const RankStacks*> before;
    for (const RankStacks& rank : first.ranks) before.emplace(rank.rank, &rank);
    for (const RankStacks& now : second.ranks) {
      const auto earlier = before.find(now.rank);
      if (earlier == before.end()) continue;  // whether it has moved is not known
      for (Standing& one : standings_of(*earlier->second, now)) all_.push_back(std::move(one));
    }
    find_starved();
    for (const Standing& one : all_) {
      (one.why == Why::ranks ? waiting_ : others_).push_back(&one);
      if (one.has_moved) moved_.push_back(&one);
      sees_frames_ = sees_frames_ || !one.function.empty() || !one.operation.empty();
    }
    find_unseen();
    find_broken();
  }

  [[nodiscard]] Verdict verdict() {
    decide();
    say_more();
    auto& odd = verdict_.odd;
    std::sort(odd.begin(), odd.end());
    odd.erase(std::unique(odd.begin(), odd.end()), odd.end());  // several workers of one rank
    return std::move(verdict_);
  }

 private:
  /// If most ranks get CPU time, a rank that waits and gets none is itself late. Otherwise all
  /// ranks spin in their waits, on too few CPUs.
  void find_starved() {
    const auto is_starved = [](const Standing& one) {
      return one.why == Why::ranks && one.lacks_cpu;
    };
    const auto count = std::count_if(all_.begin(), all_.end(), is_starved);
    if (2 * static_cast<std::size_t>(count) > all_.size()) return;
    for (Standing& one : all_) {
      if (!is_starved(one)) continue;
      one.why = Why::starved;
      one.has_moved = true;
    }
  }

  void find_unseen() {
    std::vector<bool> is_seen(second_.world, false);
    for (const Standing& one : all_) {
      if (one.rank.value < is_seen.size()) is_seen[one.rank.value] = true;
    }
    for (std::uint32_t rank = 0; rank < is_seen.size(); ++rank) {
      if (!is_seen[rank]) unseen_.push_back({Rank(rank), silent_node_of(Rank(rank)), 1});
    }
  }

  /// The node of this rank, if the node did not answer.
  [[nodiscard]] std::string silent_node_of(Rank rank) const {
    for (const NodeOfRanks& node : nodes_) {
      if (std::find(node.ranks.begin(), node.ranks.end(), rank) == node.ranks.end()) continue;
      for (const std::string& silent : second_.silent) {
        if (silent.starts_with(node.name + ": ")) return node.name;
      }
    }
    return "";
  }

  /// Finds the pairs of hosts whose connections get no answer, each pair once.
  void find_broken() {
    for (const Standing& one : all_) {
      for (const std::string& address : one.unanswered) {
        const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const NodeOfRanks& other) {
          return other.address == address;
        });
        const std::string& peer = node == nodes_.end() ? address : node->name;
        broken_.insert(std::minmax(one.host, peer));
      }
    }
  }

  /// "no answer over the network between a and b"; or, if one host is in more of these pairs than
  /// any other, "... from" that host, whose ranks are then the odd ones.
  std::string without_network() {
    std::map<std::string, std::set<std::string>> missed_by;
    for (const auto& [a, b] : broken_) {
      missed_by[a].insert(b);
      missed_by[b].insert(a);
    }
    std::size_t most = 0;
    for (const auto& [host, others] : missed_by) most = std::max(most, others.size());
    const auto has_most = [most](const auto& one) { return one.second.size() == most; };
    const auto worst = std::find_if(missed_by.begin(), missed_by.end(), has_most);
    if (std::count_if(missed_by.begin(), missed_by.end(), has_most) > 1) {
      const std::size_t more = broken_.size() - 1;
      return "no answer over the network between " + plain_line(broken_.begin()->first) + " and " +
             plain_line(broken_.begin()->second) +
             (more > 0 ? ", and between " + counted(more, "more pair") : "");
    }
    std::vector<RankOnHost> others;
    for (const std::string& host : worst->second) others.push_back({Rank(0), host, 1});
    for (const NodeOfRanks& node : nodes_) {
      if (node.name == worst->first) verdict_.odd = node.ranks;
    }
    return "no answer over the network from " + plain_line(worst->first) + " to " +
           hosts_of(others);
  }

  void decide() {
    using Kind = Verdict::Kind;
    if (all_.empty())
      return set(Kind::unknown, no_move() + ", and it is unknown where the ranks are");
    const bool only_cpu = !sees_frames_ && !moved_.empty();
    if (only_cpu) {
      return set(Kind::unknown, "nothing printed for " + time_ + ": " +
                                    clause_of(groups_of(moved_).front()) +
                                    ", but where in the program is unknown");
    }
    const bool a_waiting_one_moves = std::any_of(
        waiting_.begin(), waiting_.end(), [](const Standing* one) { return one->has_moved; });
    const bool all_wait_for_others = !waiting_.empty() && !a_waiting_one_moves;
    if (!moved_.empty() && !all_wait_for_others) {
      return set(Kind::working, "nothing printed for " + time_ +
                                    ", but ranks work: " + clause_of(groups_of(moved_).front()));
    }
    if (!moved_.empty()) {
      name_odd(groups_of(others_));
      return set(Kind::slow, "nothing printed for " + time_ + ": " + odd_and_waiting());
    }
    if (!unseen_.empty()) return set(Kind::unknown, without_unseen());
    if (broken_.empty() && others_.empty() && all_may_go_on()) {
      return set(Kind::unknown, "nothing printed for " + time_ + ": " +
                                    everyone_in(groups_of(waiting_).front()) +
                                    "; one long wait or many short ones");
    }
    set(Kind::hang, hang());
  }

  /// Whether all ranks wait in the same place and may do so again and again, in a program that
  /// makes progress.
  [[nodiscard]] bool all_may_go_on() const {
    return groups_of(waiting_).size() == 1 &&
           std::all_of(waiting_.begin(), waiting_.end(),
                       [](const Standing* one) { return one->may_be_many; });
  }

  std::string without_unseen() {
    for (const RankOnHost& one : unseen_) verdict_.odd.push_back(one.rank);
    const std::string others =
        ": " + clause_of(groups_of(waiting_.empty() ? others_ : waiting_).front());
    const bool are_lost = std::none_of(unseen_.begin(), unseen_.end(),
                                       [](const RankOnHost& one) { return one.host.empty(); });
    const std::string who = ranks_of(unseen_);
    if (are_lost)
      return "nothing printed for " + time_ + ", and no answer from " + hosts_of(unseen_) + " (" +
             who + ')' + others;
    return "nothing printed for " + time_ + ", and " + who +
           (unseen_.size() == 1 ? " was" : " were") + " not seen" + others;
  }

  /// The headline if no rank moves and all ranks have been seen.
  std::string hang() {
    if (all_.size() == 1) {
      return subject_of({&all_.front()}) + " has not moved for " + time_ + ": it " +
             state_in_words(all_.front(), Length::headline);
    }
    if (!waiting_.empty() && !others_.empty()) {
      name_odd(groups_of(others_));
      return no_move() + ": " + odd_and_waiting();
    }
    if (!broken_.empty()) {
      const std::vector<Group> groups = groups_of(everyone());
      return no_move() + ": " + without_network() + "; " + count_of(groups.front().size()) + ' ' +
             state_in_words(groups.front(), Length::headline);
    }
    return no_move() + ": " + without_absent();
  }

  /// The headline if all ranks wait for each other, or none is known to wait for another.
  std::string without_absent() {
    std::vector<Group> groups = groups_of(everyone());
    if (groups.size() == 1) return everyone_in(groups.front());
    std::vector<Group> telling;
    for (const Group& group : groups) {
      if (group.front()->why <= Why::blocked) telling.push_back(group);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group& a, const Group& b) { return a.size() > b.size(); });
    if (!telling.empty()) {
      name_odd(telling);
      return odd_;
    }
    const bool are_equal = groups[0].size() == groups[1].size();
    // Ranks that wait for a message have not come to the collective in which the others wait; but
    // one of the others may have left out that message.
    const Standing& most_do = *groups[0].front();
    const Standing& next_do = *groups[1].front();
    const bool may_be_owed =
        most_do.waits_for_peer && next_do.why == Why::ranks && !next_do.waits_for_peer;
    if (are_equal || may_be_owed) {  // neither side is the odd one
      return "ranks stand in different places: " + clause_of(groups[0]) + "; " +
             clause_of(groups[1]) + (groups.size() > 2 ? "; others elsewhere" : "");
    }
    const Group most = groups.front();
    groups.erase(groups.begin());
    name_odd(groups);
    return odd_ + "; " + count_of(most.size()) + ' ' + state_in_words(most, Length::headline);
  }

  [[nodiscard]] Group everyone() const {
    Group group;
    for (const Standing& one : all_) group.push_back(&one);
    return group;
  }

  /// Of ranks it is known how many there must be; of workers one may have ended and be gone.
  [[nodiscard]] std::string everyone_in(const Group& group) const {
    const bool has_workers = !workers_in(group).empty();
    const bool none_is_missing = group.front()->why == Why::ranks && !has_workers;
    return (group.size() > 1 ? "all " : "") + count_of(group.size(), has_workers ? "live " : "") +
           ' ' + state_in_words(group, Length::headline) +
           (none_is_missing ? ", and none is missing there" : "");
  }

  void name_odd(const std::vector<Group>& groups) {
    std::size_t more = 0;
    for (const Group& group : groups) {
      for (const Standing* one : group) verdict_.odd.push_back(one->rank);
      if (&group != &groups.front()) more += group.size();
    }
    odd_ = clause_of(groups.front());
    if (more > 0) odd_ += ", and " + count_of(more, "more ") + " elsewhere";
  }

  [[nodiscard]] std::string odd_and_waiting() const {
    const std::vector<Group> groups = groups_of(waiting_);
    const Group& most = groups.front();
    std::string text = odd_ + "; " + count_of(waiting_.size()) +
                       (waiting_.size() == 1 ? " waits for " : " wait for ") +
                       (verdict_.odd.size() == 1 ? "it" : "them");
    if (groups.size() > 1) text += ", " + std::to_string(most.size()) + " of these";
    return text + after_word(" in ", place_of(*most.front(), Length::headline));
  }

  /// "63 ranks", "63 more workers": whatever the members of all ranks are.
  [[nodiscard]] std::string count_of(std::size_t count, std::string_view more = "") const {
    return counted_as(everyone(), count, more);
  }

  [[nodiscard]] std::string no_move() const { return "no rank has moved for " + time_; }

  void set(Verdict::Kind kind, std::string headline) {
    verdict_.kind = kind;
    verdict_.headline = std::move(headline);
  }

  /// One line per group, the groups of odd ranks first; then says what is missing.
  void say_more() {
    Group odd;
    Group rest;
    for (const Standing& one : all_) {
      const bool is_odd =
          std::find(verdict_.odd.begin(), verdict_.odd.end(), one.rank) != verdict_.odd.end();
      (is_odd ? odd : rest).push_back(&one);
    }
    for (const Group& part : {odd, rest}) {
      for (const Group& group : groups_of(part))
        line(workers_in(group) + heading_of(members_of(group)) + ": " +
             state_in_words(group, Length::line));
    }
    std::map<std::string, std::vector<RankOnHost>> remarks;
    for (const Standing& one : all_) {
      for (const std::string& address : one.unanswered)
        remarks["no answer over the network from " + address].push_back({one.rank, one.host, 1});
    }
    for (const RankStacks& rank : second_.ranks) {
      for (const std::string& remark : rank.remarks) {
        auto& members = remarks[remark];
        if (members.empty() || members.back().rank != rank.rank)
          members.push_back({rank.rank, rank.host, 1});
      }
    }
    for (const std::string& silent : second_.silent) line("no answer from " + plain_line(silent));
    for (const auto& [remark, members] : remarks)
      line(heading_of(members) + ": " + plain_line(remark));
    if (left_out_ == 0) return;
    verdict_.lines.back() = "and " + std::to_string(left_out_ + 1) + " more; see dlaunch stacks";
  }

  void line(std::string text) {
    verdict_.lines.size() < kMostVerdictLines ? verdict_.lines.push_back(std::move(text))
                                              : void(++left_out_);
  }

  const StacksReply& second_;
  const std::vector<NodeOfRanks>& nodes_;
  std::string time_;
  std::vector<Standing> all_;
  Group waiting_;  // ranks that wait for other ranks
  Group others_;
  Group moved_;
  std::vector<RankOnHost> unseen_;  // ranks that a snapshot lacks; host: set if it does not answer
  std::set<std::pair<std::string, std::string>> broken_;  // pairs of hosts, names in order
  bool sees_frames_ = false;
  Verdict verdict_;
  std::string odd_;  // the clause about the odd ranks
  std::size_t left_out_ = 0;
};

}  // namespace

Verdict judge(const StacksReply& first, const StacksReply& second,
              std::chrono::milliseconds silence, const std::vector<NodeOfRanks>& nodes) {
  return Judge(first, second, silence, nodes).verdict();
}

}  // namespace dlaunch
