#include "cli/show_plan.h"

#include "cli/print.h"
#include "launch/connect/this_machine.h"
#include "launch/mpi/pmix_start.h"
#include "launch/session/assumed_cluster.h"
#include "launch/session/discover.h"
#include "launch/sync/workdir_settings.h"
#include "plan/make_plan.h"
#include "report/plan_json.h"
#include "report/plan_text.h"

extern char** environ;

namespace dlaunch {

namespace {

/// As a run would say when it starts the servers: each node has tried whether it could.
Status add_pmix(const JobSpec& spec, const Cluster& cluster, LaunchPlan& plan) {
  PmixStart start(plan);
  for (std::size_t i = 0; i < plan.nodes.size() && i < cluster.nodes.size(); ++i) {
    start.add(NodeIndex(static_cast<std::uint32_t>(i)),
              {plan.attempt, cluster.nodes[i].facts.no_pmix});
  }
  if (const auto error = start.error(); error && spec.mpi.pmi == Mpi::Pmi::pmix)
    return tl::unexpected(*error);
  for (std::string& note : start.notes()) plan.notes.push_back(std::move(note));
  return {};
}

}  // namespace

int show_plan(const JobSpec& spec, const std::string& current_folder, const PlanView& view) {
  PlanContext context;
  context.launcher_env = environment_from_block(environ);
  context.current_folder = current_folder;
  const auto cluster =
      view.offline ? assumed_cluster(spec, this_machine()) : discover_cluster(spec, context);
  if (!cluster) return print_error(cluster.error());
  auto plan = make_plan(spec, *cluster, context);
  if (!plan) return print_error(plan.error());
  if (const Status s = add_pmix(spec, *cluster, *plan); !s) return print_error(s.error());
  const auto sync = sync_extent(spec, context, *plan);
  if (!sync) return print_error(sync.error());
  plan->sync = *sync;
  if (view.env_of && *view.env_of >= plan->ranks.size()) {
    return print_error(Error{exit_code::kUsage, "--env " + std::to_string(*view.env_of) +
                                                    ": the job has ranks 0 to " +
                                                    std::to_string(plan->ranks.size() - 1)});
  }
  if (view.env_of) {
    const Rank rank(*view.env_of);
    return print_text(view.json ? plan_env_json(*plan, rank)
                                : plan_env_text(*plan, *cluster, rank));
  }
  if (view.json) return print_text(plan_json(*plan, &*cluster));
  return print_text(plan_text(*plan, *cluster));
}

}  // namespace dlaunch
