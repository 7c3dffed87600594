#include "node/stacks/stack_service.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "node/stacks/take_stacks.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/memory_broker.h"
#include "os/unique_fd.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

/// Time that the side process has after the last source, to answer before it is killed.
constexpr std::chrono::milliseconds kToAnswer{200};

}  // namespace

void StackService::take(const wire::TakeStacks& question, std::vector<RankProcess> ranks) {
  process_.cancel();
  answer_ = {question.attempt, question.id, "", {}};
  const bool is_none_left = std::all_of(ranks.begin(), ranks.end(),
                                        [](const RankProcess& rank) { return rank.pid == 0; });
  if (is_none_left) {
    for (const RankProcess& one : ranks) answer_.ranks.emplace_back().rank = one.rank;
    return report_(answer_);
  }
  const std::chrono::milliseconds limit(question.limit_ms);
  const UniqueFd broker = only_ancestors_may_read() ? start_memory_broker() : UniqueFd();
  StackRequest request{std::move(ranks), question.path,
                       py_spy_.path(),   monotonic_now() + limit - kToAnswer,
                       broker.get(),     question.native};
  process_.begin(
      [answer = answer_, request = std::move(request)]() mutable {
        answer.ranks = take_stacks(request);
        return wire::encode_value(answer);
      },
      limit,
      [this, limit](Result<std::string> said) {
        const auto taken = said ? wire::decode_value<wire::StacksTaken>(*said) : std::nullopt;
        if (taken) return report_(*taken);
        answer_.problem =
            !said && said.error().exit_code == exit_code::kTimeLimit
                ? "reading the stacks took longer than " + std::to_string(limit.count()) + " ms"
                : "the process that reads the stacks ended without an answer";
        report_(answer_);
      },
      broker.get());
}

std::set<pid_t> StackService::abandon() {
  const auto process = process_.pid();
  if (!process) return {};
  std::vector<pid_t> found{*process};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const pid_t child : children_of(found[i])) found.push_back(child);
  }
  process_.cancel();  // what it has started ends with it (PR_SET_PDEATHSIG)
  answer_.problem = "the ranks have ended";
  report_(answer_);
  return {found.begin(), found.end()};
}

}  // namespace dlaunch
