#include "measure/check/survey.h"

#include <utility>

#include "launch/session/rehearsal.h"

namespace dlaunch {

namespace {

PrepareSettings prepare_settings(const ClusterCheckOptions& options) {
  PrepareSettings settings;
  settings.up_to = options.job_needs ? PrepareStep::prerequisites
                   : options.reach   ? PrepareStep::meeting
                                     : PrepareStep::facts;
  settings.try_meeting = options.reach;
  settings.inspection = InspectionScope{options.nodes, options.fabric, options.job_needs};
  return settings;
}

std::uint32_t index_of(NodeId id, const Cluster& cluster) {
  return static_cast<std::uint32_t>(cluster.find(id) - cluster.nodes.data());
}

CheckedNode checked_node(const Node& node, const Rehearsal& rehearsal) {
  const Prepared& outcome = rehearsal.outcome;
  CheckedNode checked;
  checked.name = node.name;
  checked.facts = node.facts;
  if (const auto lost = outcome.lost.find(node.id); lost != outcome.lost.end())
    checked.failure = lost->second;
  if (const auto found = outcome.conditions.find(node.id); found != outcome.conditions.end())
    checked.condition = found->second;
  if (const auto missing = outcome.missing.find(node.id); missing != outcome.missing.end())
    checked.missing = missing->second;
  const auto clock = rehearsal.clocks.find(node.id);
  const bool is_known =
      clock != rehearsal.clocks.end() && clock->second.error() < NodeClock::kUnknown;
  if (is_known && checked.failure.empty()) {
    checked.clock_offset_ns = clock->second.offset().count();
    checked.clock_error_ns = clock->second.error().count();
  }
  return checked;
}

}  // namespace

Result<Survey> survey_nodes(const JobSpec& spec, const PlanContext& context,
                            const ClusterCheckOptions& options) {
  auto rehearsal = rehearse(spec, context, prepare_settings(options));
  if (!rehearsal) return tl::unexpected(rehearsal.error());
  const Prepared& outcome = rehearsal->outcome;
  Survey survey;
  for (const Node& node : rehearsal->cluster.nodes)
    survey.nodes.push_back(checked_node(node, *rehearsal));
  if (outcome.failure && outcome.lost.empty()) {
    if (outcome.failed_at == PrepareStep::meeting) survey.no_meeting = outcome.failure->message;
    if (outcome.failed_at == PrepareStep::plan) survey.no_plan = outcome.failure->message;
  }
  for (const NodeId node : outcome.unreached)
    survey.unreached.push_back(index_of(node, rehearsal->cluster));
  survey.cluster = std::move(rehearsal->cluster);
  return survey;
}

}  // namespace dlaunch
