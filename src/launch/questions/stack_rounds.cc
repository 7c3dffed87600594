#include "launch/questions/stack_rounds.h"

#include <algorithm>
#include <set>
#include <utility>

#include "os/clock.h"

namespace dlaunch {

namespace {

/// The limit for the sources of stacks on a node, and the time for its answer to arrive.
constexpr std::chrono::milliseconds kNodeLimit{5000};
constexpr std::chrono::milliseconds kOnTheWay{500};
/// The least time that a second answer takes: native frames are read before those of Python.
constexpr std::chrono::milliseconds kLeast{2500};

constexpr const char* kLate = "the copy from this machine did not arrive in time: ask again";

bool lacks_py_spy(const wire::StacksTaken& taken) {
  return std::any_of(taken.ranks.begin(), taken.ranks.end(),
                     [](const RankStacks& rank) { return rank.lacks_py_spy; });
}

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
  for (const auto& [node, its] : of_node) {
    awaited_[node] = {{plan_->attempt, round.number, its, round.request.path,
                       static_cast<std::uint32_t>(kNodeLimit.count()), round.request.native}};
  }
  end_ = monotonic_now() + answer_limit_;
  limit_.after(answer_limit_, [this] { time_is_over(); });
  for (const auto& [node, its] : awaited_) nodes_.send(node, its.question);
}

void StackRounds::on(NodeId node, wire::StacksTaken& taken) {
  if (!under_way_ || taken.id != rounds_.front().number) return;
  const auto found = awaited_.find(node);
  if (found == awaited_.end()) return;
  Awaited& its = found->second;
  if (its.without_py_spy && !taken.problem.empty())
    return add_without_py_spy(node, "with the copy from this machine: " + taken.problem);
  if (!its.without_py_spy && lacks_py_spy(taken)) {
    its.without_py_spy = std::move(taken);
    return py_spy_.bring(node, rounds_.front().request.path);
  }
  add(node, std::move(taken));
}

/// The node is asked again, if there is time for that.
void StackRounds::brought(NodeId node, const std::string& problem) {
  const auto found = awaited_.find(node);
  if (!under_way_ || found == awaited_.end() || !found->second.without_py_spy) return;
  const auto left = std::chrono::floor<std::chrono::milliseconds>(end_ - monotonic_now());
  if (!problem.empty() || left < kLeast + kOnTheWay)
    return add_without_py_spy(node, problem.empty() ? kLate : problem);
  wire::TakeStacks& question = found->second.question;
  question.limit_ms = static_cast<std::uint32_t>(std::min(kNodeLimit, left - kOnTheWay).count());
  nodes_.send(node, question);
}

void StackRounds::add_without_py_spy(NodeId node, const std::string& why) {
  wire::StacksTaken taken = *std::move(awaited_.at(node).without_py_spy);
  for (RankStacks& rank : taken.ranks) {
    if (rank.lacks_py_spy)
      rank.remarks.push_back("the node has no py-spy, so Python frames are missing; " + why);
  }
  add(node, std::move(taken));
}

/// An agent may report only the ranks of its own node, each once.
void StackRounds::add(NodeId node, wire::StacksTaken taken) {
  awaited_.erase(node);
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
  if (awaited_.empty()) finish();
}

void StackRounds::node_lost(NodeId node) {
  py_spy_.node_lost(node);
  if (!under_way_ || awaited_.erase(node) == 0) return;
  reply_.silent.push_back(nodes_.cluster().name_of(node) + ": the node is lost");
  if (awaited_.empty()) finish();
}

/// A node that py-spy is being sent to has already reported what it knows without it.
void StackRounds::time_is_over() {
  std::vector<NodeId> late;
  for (const auto& [node, its] : awaited_) {
    if (its.without_py_spy) {
      late.push_back(node);
    } else {
      reply_.silent.push_back(nodes_.cluster().name_of(node) + ": no answer within " +
                              std::to_string(answer_limit_.count() / 1000) + " s");
    }
  }
  std::erase_if(awaited_, [](const auto& one) { return !one.second.without_py_spy; });
  if (late.empty()) return finish();
  for (const NodeId node : late) add_without_py_spy(node, kLate);
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
