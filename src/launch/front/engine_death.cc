#include "launch/front/engine_death.h"

#include <algorithm>
#include <cstdio>

#include "os/clock.h"
#include "report/summary.h"
#include "runs/run_directory.h"
#include "runs/run_view.h"

namespace dlaunch {

namespace {

/// The part of the plan that a summary shows: which rank was on which node.
LaunchPlan plan_of(const std::string& run_folder) {
  LaunchPlan plan;
  for (const std::string& label : rank_labels(run_folder)) {
    const std::string node = label.substr(0, label.rfind(':'));
    const auto known = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                    [&](const NodePlan& other) { return other.name == node; });
    RankPlan rank;
    rank.rank = Rank(static_cast<std::uint32_t>(plan.ranks.size()));
    rank.node = NodeRank(static_cast<std::uint32_t>(known - plan.nodes.begin()));
    if (known == plan.nodes.end()) plan.nodes.emplace_back().name = node;
    plan.ranks.push_back(std::move(rank));
  }
  return plan;
}

}  // namespace

void record_engine_death(const std::string& run_folder, const std::string& shown_folder,
                         const EngineDeath& death) {
  const auto run = read_run(run_folder);
  if (run && run->witness.ending) return;
  LaunchPlan plan = plan_of(run_folder);
  RunReport report;
  report.outcome.exit_code = death.exit_code;
  report.outcome.cause = death.cause;
  report.outcome.signal = death.signal;
  report.outcome.detail = death.what;
  RankEnd lost;
  lost.how = RankEnd::How::lost;
  report.ranks.assign(plan.ranks.size(), lost);
  if (run) {
    plan.run_id = run->id;
    plan.name = run->name;
    const auto attempts = attempts_of(run_folder);
    if (!attempts.empty()) report.attempt = Attempt(attempts.back());
    if (run->witness.record) report.elapsed = wall_now() - run->witness.record->started;
  }
  const SummaryInput input{&plan, report, shown_folder, {}};
  const Status written =
      RunDirectory::existing(run_folder).write("summary.json", summary_json(input));
  if (!written) std::fprintf(stderr, "dlaunch: note: %s\n", written.error().message.c_str());
}

}  // namespace dlaunch
