#include "plan/success.h"

#include <algorithm>

namespace dlaunch {

Success success_rule(const JobSpec& spec, const LaunchPlan& plan) {
  if (spec.success != Success::automatic) return spec.success;
  const bool has_ps = std::any_of(plan.ranks.begin(), plan.ranks.end(),
                                  [](const RankPlan& rank) { return rank.role == "ps"; });
  const bool has_other = std::any_of(
      plan.ranks.begin(), plan.ranks.end(),
      [](const RankPlan& rank) { return rank.role == "chief" || rank.role == "worker"; });
  return has_ps && has_other ? Success::workers : Success::all;
}

std::vector<bool> deciding_ranks(const JobSpec& spec, const LaunchPlan& plan) {
  const Success rule = success_rule(spec, plan);
  std::vector<bool> decides;
  decides.reserve(plan.ranks.size());
  for (const RankPlan& rank : plan.ranks) {
    const bool helps = rank.role == "ps" || rank.role == "evaluator";
    decides.push_back(rule == Success::chief     ? rank.rank.value == 0
                      : rule == Success::workers ? !helps
                                                 : true);
  }
  return decides;
}

}  // namespace dlaunch
