#include "measure/check/cluster_check.h"

#include <algorithm>
#include <vector>

#include <unistd.h>

#include "launch/session/rehearsal.h"
#include "measure/check/backend_choice.h"
#include "measure/check/fabric_findings.h"
#include "measure/check/fabric_run.h"
#include "measure/check/node_checks.h"
#include "model/cluster.h"
#include "os/clock.h"

namespace dlaunch {

namespace {

using Severity = CheckFinding::Severity;

/// The nodes of a job as a check sees them: which of them answer, what each has, its condition, and
/// whether it has what the job needs.
struct Survey {
  std::vector<CheckedNode> nodes;  // index = node of the job's hosts, in their order
  Cluster cluster;                 // the same nodes; facts of those that have answered
  /// Why those that have answered cannot meet; empty: they can, or it was not tried.
  std::string no_meeting;
  std::vector<std::uint32_t> unreached;  // with no_meeting: the nodes at fault, if known
  std::string no_plan;                   // why the job's needs were not checked
};

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

/// Starts no rank. Waits at most for the limits of preparation.h. Must be called before any thread
/// exists. Errors: those of rehearse().
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

/// Without node checks only failed connections count: such a node cannot be used anyway.
std::vector<CheckFinding> findings_of(const Survey& survey, const ClusterCheckOptions& options) {
  std::vector<CheckFinding> findings = check_nodes(survey.nodes, options.expected_gpus);
  if (!options.nodes)
    std::erase_if(findings, [](const CheckFinding& one) { return one.code != "connect"; });
  if (!survey.no_meeting.empty())
    findings.push_back({Severity::bad, {}, "reach", survey.no_meeting, ""});
  if (!survey.no_plan.empty())
    findings.push_back(
        {Severity::bad, {}, "job", survey.no_plan, "run dlaunch plan to see the details"});
  return findings;
}

std::vector<std::uint32_t> answering(const Survey& survey) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < survey.nodes.size(); ++i) {
    if (survey.nodes[i].failure.empty()) nodes.push_back(i);
  }
  return nodes;
}

bool is_named(const std::vector<CheckFinding>& findings, std::uint32_t node) {
  return std::any_of(findings.begin(), findings.end(), [&](const CheckFinding& one) {
    return one.severity == Severity::bad && one.nodes == std::vector{node};
  });
}

/// The nodes that keep the others from meeting or from having a plan, if they are known.
std::vector<CheckFinding> blocking_nodes(const JobSpec& spec, const Survey& survey,
                                         const std::vector<std::uint32_t>& asked) {
  std::vector<CheckFinding> findings;
  if (!survey.no_meeting.empty()) {
    const std::string& first = survey.nodes[asked.front()].name;
    for (const std::uint32_t node : survey.unreached) {
      const std::string text = node == asked.front()
                                   ? "most other nodes cannot reach its rendezvous address"
                                   : "it cannot reach the rendezvous address of " + first;
      findings.push_back(
          {Severity::bad, {node}, "reach", text, "check its firewall, cable and routes"});
    }
  }
  const auto has_gpus = [&](std::uint32_t node) { return !survey.nodes[node].facts.gpus.empty(); };
  const bool wants_gpus = spec.processes_per_node.kind == ProcessesPerNode::Kind::gpu &&
                          std::any_of(asked.begin(), asked.end(), has_gpus);
  for (const std::uint32_t node : asked) {
    if (survey.no_plan.empty() || !wants_gpus || has_gpus(node)) continue;
    findings.push_back({Severity::bad,
                        {node},
                        "gpus",
                        "no GPU was found, but the job starts one process per GPU",
                        "a GPU may have fallen off the bus: dlaunch info, dmesg | grep -i xid"});
  }
  return findings;
}

/// Surveys only the nodes `there` again, for where they meet and for what the job needs on them.
Status survey_again(const JobSpec& spec, const PlanContext& context, ClusterCheckOptions options,
                    const std::vector<std::uint32_t>& there, Survey& survey) {
  JobSpec rest = spec;
  rest.hosts.hosts.clear();
  for (const std::uint32_t i : there) rest.hosts.hosts.push_back(spec.hosts.hosts[i]);
  options.nodes = options.fabric = false;
  auto second = survey_nodes(rest, context, options);
  if (!second) return tl::unexpected(second.error());
  survey.no_meeting = second->no_meeting;
  survey.no_plan = second->no_plan;
  survey.unreached.clear();
  for (const std::uint32_t i : second->unreached) survey.unreached.push_back(there[i]);
  survey.cluster.meeting.reset();
  if (second->cluster.meeting) {
    survey.cluster.meeting = second->cluster.meeting;
    survey.cluster.meeting->routes.assign(survey.nodes.size(), {});
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    CheckedNode& node = survey.nodes[there[i]];
    node.failure = second->nodes[i].failure;
    node.missing = second->nodes[i].missing;
    if (second->cluster.meeting && i < second->cluster.meeting->routes.size())
      survey.cluster.meeting->routes[there[i]] = second->cluster.meeting->routes[i];
  }
  return {};
}

/// If nodes do not answer, or keep the others from meeting or from having a plan, surveys the
/// others without them, so that one bad node does no further harm and a spare can replace it. Adds
/// the bad nodes to `culprits`.
Status survey_without_bad_nodes(const JobSpec& spec, const PlanContext& context,
                                const ClusterCheckOptions& options, Survey& survey,
                                std::vector<CheckFinding>& culprits) {
  constexpr int kMostTimes = 3;
  std::vector<std::uint32_t> asked;
  for (std::uint32_t i = 0; i < survey.nodes.size(); ++i) asked.push_back(i);
  if (spec.hosts.hosts.size() != asked.size() || !(options.job_needs || options.reach)) return {};
  for (int times = 0; times < kMostTimes; ++times) {
    for (CheckFinding& one : blocking_nodes(spec, survey, asked))
      culprits.push_back(std::move(one));
    const std::vector<CheckFinding> known = findings_of(survey, options);
    const std::vector<std::uint32_t> there = answering(survey);
    std::vector<std::uint32_t> good;
    for (const std::uint32_t i : asked) {
      if (!is_named(known, i) && !is_named(culprits, i)) good.push_back(i);
    }
    const bool all_answer = std::all_of(asked.begin(), asked.end(), [&](std::uint32_t i) {
      return std::binary_search(there.begin(), there.end(), i);
    });
    const bool is_well = all_answer && survey.no_meeting.empty() && survey.no_plan.empty();
    if (is_well || good.empty() || good.size() == asked.size()) return {};
    if (const Status again = survey_again(spec, context, options, good, survey); !again)
      return again;
    asked = good;
  }
  return {};
}

std::vector<std::string> interfaces_of(const Survey& survey) {
  std::vector<std::string> names(survey.nodes.size());
  if (!survey.cluster.meeting) return names;
  const auto& routes = survey.cluster.meeting->routes;
  for (std::size_t i = 0; i < routes.size() && i < names.size(); ++i)
    names[i] = routes[i].interface;
  return names;
}

/// Why no measurement is possible, regardless of what is on the nodes; empty: one is possible.
std::string why_not_measured(const Survey& survey, const std::vector<std::uint32_t>& good) {
  if (!survey.no_meeting.empty()) return "the nodes cannot reach each other";
  if (good.size() < 2) return "a measurement needs at least two good nodes";
  return {};
}

/// One run of measuring ranks on the good nodes. Returns whether to try again without the nodes
/// that failed. `notes`: what was not measured, and why.
Result<bool> measure_once(const JobSpec& spec, const ClusterCheckOptions& options,
                          const Survey& survey, std::vector<CheckFinding>& notes,
                          CheckReport& report) {
  const std::vector<std::uint32_t> good = good_nodes(report);
  report.not_measured = why_not_measured(survey, good);
  if (!report.not_measured.empty()) return false;
  BackendChoice choice = choose_backend(report.nodes, good);
  notes = std::move(choice.notes);
  const auto& backend = choice.backend;
  if (!backend) {
    report.not_measured = backend.error().message;
    return false;
  }
  const auto run = run_fabric_check(spec, report.nodes, good, *backend, options.current_folder,
                                    options.verbosity);
  if (!run) return tl::unexpected(run.error());
  if (!run->failure.empty()) {
    for (const RunCulprit& one : run->culprits)
      report.findings.push_back({Severity::bad, {good[one.node]}, "fabric", one.what, ""});
    if (run->culprits.empty()) {
      const std::string text = "the measuring ranks failed: the run " + run->failure;
      report.findings.push_back({Severity::bad, {}, "fabric", text, ""});
    }
    return !run->culprits.empty();
  }
  FabricContext context;
  context.nodes = good;
  context.min_busbw = options.min_busbw;
  context.nccl = *backend == MeasureBackend::nccl;
  context.interfaces = interfaces_of(survey);
  add_fabric(run->data, context, report);
  return false;
}

/// Repeats the measurement without the nodes that failed.
Status measure_fabric(const JobSpec& spec, const ClusterCheckOptions& options, const Survey& survey,
                      CheckReport& report) {
  constexpr int kMostTimes = 3;
  std::vector<CheckFinding> notes;
  bool again = true;
  for (int times = 0; again && times < kMostTimes; ++times) {
    const auto tried = measure_once(spec, options, survey, notes, report);
    if (!tried) return tl::unexpected(tried.error());
    again = *tried;
  }
  if (again) report.not_measured = "the measuring ranks failed on one node after another";
  report.findings.insert(report.findings.end(), notes.begin(), notes.end());
  return {};
}

}  // namespace

Result<CheckReport> check_cluster(const JobSpec& spec, const ClusterCheckOptions& options) {
  const MonotonicTime began = monotonic_now();
  PlanContext context;
  context.launcher_env = environment_from_block(environ);
  context.current_folder = options.current_folder;
  auto survey = survey_nodes(spec, context, options);
  if (!survey) return tl::unexpected(survey.error());
  std::vector<CheckFinding> culprits;
  if (const Status asked = survey_without_bad_nodes(spec, context, options, *survey, culprits);
      !asked)
    return tl::unexpected(asked.error());
  CheckReport report;
  report.nodes = survey->nodes;
  report.findings = findings_of(*survey, options);
  for (CheckFinding& one : culprits) {
    const bool is_known = one.code == "gpus" && is_named(report.findings, one.nodes.front());
    if (!is_known) report.findings.push_back(std::move(one));
  }
  if (options.azure_size) {
    for (CheckFinding& one : azure_size_findings(*options.azure_size, report.nodes))
      report.findings.push_back(std::move(one));
  }
  if (options.fabric) {
    if (const Status measured = measure_fabric(spec, options, *survey, report); !measured)
      return tl::unexpected(measured.error());
  }
  report.took_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(monotonic_now() - began).count();
  return report;
}

}  // namespace dlaunch
