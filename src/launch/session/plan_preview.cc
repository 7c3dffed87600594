#include "launch/session/plan_preview.h"

#include <utility>

#include <unistd.h>

#include "launch/mpi/pmix_start.h"
#include "launch/session/rehearsal.h"
#include "launch/stage/stage_settings.h"
#include "launch/sync/workdir_settings.h"
#include "plan/make_plan.h"

namespace dlaunch {

namespace {

constexpr std::uint32_t kExamplePort = 21000;
constexpr std::uint32_t kLastPort = 65535;

/// Each node has tested whether it can start a PMIx server; notes and errors as in a run.
Status add_pmix(const JobSpec& spec, const Cluster& cluster, LaunchPlan& plan) {
  PmixStart start(plan);
  for (const Node& node : cluster.nodes) start.add(node.id, {plan.attempt, node.facts.no_pmix});
  if (const auto error = start.error(); error && spec.mpi.pmi == Mpi::Pmi::pmix)
    return tl::unexpected(*error);
  for (std::string& note : start.notes()) plan.notes.push_back(std::move(note));
  return {};
}

Result<PlanPreview> plan_offline(const JobSpec& spec, const PlanContext& context) {
  auto cluster = assumed_cluster(spec, this_machine());
  if (!cluster) return tl::unexpected(cluster.error());
  auto plan = make_plan(spec, *cluster, context);
  if (!plan) return tl::unexpected(plan.error());
  return PlanPreview{std::move(*cluster), std::move(*plan)};
}

}  // namespace

Result<Cluster> assumed_cluster(const JobSpec& spec, const OwnMachine& own) {
  const auto targets = node_targets(spec, own);
  if (!targets) return tl::unexpected(targets.error());
  Cluster cluster;
  cluster.is_assumed = true;
  for (const NodeTarget& target : *targets) {
    Node node = node_of(target, targets->size() == 1);
    node.id = NodeId(static_cast<std::uint32_t>(cluster.nodes.size()));
    for (std::uint32_t i = 0; i < ports_wanted(spec) && kExamplePort + i <= kLastPort; ++i)
      node.facts.reserved_ports.push_back(static_cast<std::uint16_t>(kExamplePort + i));
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

Result<PlanPreview> plan_by_facts(const JobSpec& spec, const PlanContext& context) {
  PrepareSettings settings;
  settings.up_to = spec.hosts.hosts.empty() ? PrepareStep::prerequisites : PrepareStep::plan;
  auto rehearsal = rehearse(spec, context, std::move(settings));
  if (!rehearsal) return tl::unexpected(rehearsal.error());
  Prepared& outcome = rehearsal->outcome;
  if (outcome.failure && outcome.failed_at != PrepareStep::prerequisites)
    return tl::unexpected(std::move(*outcome.failure));
  PlanPreview preview{std::move(rehearsal->cluster), std::move(*outcome.plan)};
  // No answer in time says nothing about the job.
  if (outcome.failure && outcome.failure->exit_code != exit_code::kNodeLost) {
    for (auto& [node, lines] : outcome.missing)
      preview.missing.insert(preview.missing.end(), lines.begin(), lines.end());
  }
  return preview;
}

Result<PlanPreview> preview_plan(const JobSpec& spec, const std::string& current_folder,
                                 bool offline) {
  PlanContext context;
  context.launcher_env = environment_from_block(environ);
  context.current_folder = current_folder;
  auto preview = offline ? plan_offline(spec, context) : plan_by_facts(spec, context);
  if (!preview) return preview;
  LaunchPlan& plan = preview->plan;
  for (const std::string& line : preview->missing)
    plan.notes.push_back("a run would fail: " + line);
  if (const Status s = add_pmix(spec, preview->cluster, plan); !s) return tl::unexpected(s.error());
  const auto sync = sync_extent(spec, context, plan);
  if (!sync) return tl::unexpected(sync.error());
  plan.sync = *sync;
  auto staged =
      planned_copies(spec, plan, find_variable(context.launcher_env, "HOME").value_or(""));
  if (!staged) return tl::unexpected(std::move(staged.error()));
  plan.staged = std::move(*staged);
  return preview;
}

}  // namespace dlaunch
