#include "launch/questions/stack_rounds.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dlaunch {

namespace {

/// For the sources on a node. `dlaunch stacks` waits longer than both together.
constexpr std::chrono::milliseconds kNodeLimit{5000};
constexpr std::chrono::milliseconds kAnswerLimit{7000};

}  // namespace

std::uint32_t StackRounds::ask(Request request, Done done) {
  const std::uint32_t number = ++last_number_;
  rounds_.push_back({number, std::move(request), std::move(done)});
  begin();
  return number;
}

void StackRounds::cancel(std::uint32_t number) {
  const bool was_current = under_way_ && rounds_.front().number == number;
  std::erase_if(rounds_, [number](const Round& round) { return round.number == number; });
  if (!was_current) return;
  under_way_ = false;
  limit_.cancel();
  begin();
}

void StackRounds::begin() {
  if (under_way_ || rounds_.empty()) return;
  under_way_ = true;
  const Round& round = rounds_.front();
  reply_ = {};
  awaited_.clear();
  if (plan_ == nullptr) return finish();
  reply_.attempt = plan_->attempt.value;
  reply_.world = static_cast<std::uint32_t>(plan_->ranks.size());
  std::map<NodeId, std::vector<Rank>> of_node;
  if (round.request.ranks.empty()) {
    for (const RankPlan& rank : plan_->ranks)
      of_node[plan_->node_of(rank.rank)].push_back(rank.rank);
  }
  for (const Rank rank : round.request.ranks) of_node[plan_->node_of(rank)].push_back(rank);
  for (const auto& [node, its] : of_node) awaited_.insert(node);
  limit_.after(kAnswerLimit, [this] { time_is_over(); });
  for (const auto& [node, its] : of_node) {
    nodes_.send(node, wire::TakeStacks{plan_->attempt, round.number, its, round.request.path,
                                       static_cast<std::uint32_t>(kNodeLimit.count()),
                                       round.request.native});
  }
}

/// An agent speaks for the ranks of its own node, and each was asked for once.
void StackRounds::on(NodeId node, wire::StacksTaken& taken) {
  if (!under_way_ || taken.id != rounds_.front().number || awaited_.erase(node) == 0) return;
  const std::string host = nodes_.cluster().name_of(node);
  if (!taken.problem.empty()) reply_.silent.push_back(host + ": " + taken.problem);
  std::set<Rank> seen;
  for (RankStacks& rank : taken.ranks) {
    const bool is_its = plan_ != nullptr && rank.rank.value < plan_->ranks.size() &&
                        plan_->node_of(rank.rank) == node;
    if (!is_its || !seen.insert(rank.rank).second) continue;
    rank.host = host;
    reply_.ranks.push_back(std::move(rank));
  }
  end_if_complete();
}

void StackRounds::node_lost(NodeId node) {
  if (!under_way_ || awaited_.erase(node) == 0) return;
  reply_.silent.push_back(nodes_.cluster().name_of(node) + ": the node is lost");
  end_if_complete();
}

void StackRounds::end_if_complete() {
  if (awaited_.empty()) finish();
}

void StackRounds::time_is_over() {
  for (const NodeId node : std::exchange(awaited_, {})) {
    reply_.silent.push_back(nodes_.cluster().name_of(node) + ": no answer within " +
                            std::to_string(kAnswerLimit.count() / 1000) + " s");
  }
  finish();
}

void StackRounds::finish() {
  limit_.cancel();
  std::sort(reply_.ranks.begin(), reply_.ranks.end(),
            [](const RankStacks& a, const RankStacks& b) { return a.rank < b.rank; });
  const Round round = std::move(rounds_.front());
  rounds_.pop_front();
  under_way_ = false;
  round.done(std::exchange(reply_, {}));
  begin();
}

}  // namespace dlaunch
