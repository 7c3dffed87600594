#include "cli/cluster_check.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "cli/fabric_run.h"
#include "launch/survey.h"
#include "os/clock.h"
#include "plan/node_checks.h"
#include "report/fabric_findings.h"

extern char** environ;

namespace dlaunch {

namespace {

using Severity = CheckFinding::Severity;

SurveyOptions survey_options(const ClusterCheckOptions& options) {
  SurveyOptions survey;
  survey.places = options.places;
  survey.gpus = options.nodes;
  survey.collectives = options.fabric;
  survey.reach = options.reach;
  return survey;
}

/// Nobody can be used who does not answer, whatever else was asked for.
std::vector<CheckFinding> findings_of(const Survey& survey, const ClusterCheckOptions& options) {
  std::vector<CheckFinding> findings = check_nodes(survey.nodes);
  if (!options.nodes)
    std::erase_if(findings, [](const CheckFinding& one) { return one.code != "connect"; });
  if (!survey.no_meeting.empty())
    findings.push_back({Severity::bad, {}, "reach", survey.no_meeting, ""});
  if (!survey.no_plan.empty())
    findings.push_back({Severity::bad, {}, "job", survey.no_plan, "dlaunch plan shows it"});
  return findings;
}

std::vector<std::uint32_t> answering(const Survey& survey) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < survey.nodes.size(); ++i) {
    if (survey.nodes[i].failure.empty()) nodes.push_back(i);
  }
  return nodes;
}

/// Where some do not answer, the others are asked once more for what concerns them all: where they
/// meet, and what a job on them needs.
Status ask_the_others(const JobSpec& spec, const PlanContext& context, SurveyOptions options,
                      Survey& survey) {
  const std::vector<std::uint32_t> there = answering(survey);
  const bool again = options.places || options.reach;
  if (!again || there.empty() || there.size() == survey.nodes.size()) return {};
  JobSpec rest = spec;
  rest.hosts.hosts.clear();
  for (const std::uint32_t i : there) rest.hosts.hosts.push_back(spec.hosts.hosts[i]);
  options.gpus = options.collectives = false;
  auto second = survey_nodes(rest, context, options);
  if (!second) return tl::unexpected(second.error());
  survey.no_meeting = second->no_meeting;
  survey.no_plan = second->no_plan;
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

std::vector<std::string> interfaces_of(const Survey& survey) {
  std::vector<std::string> names(survey.nodes.size());
  if (!survey.cluster.meeting) return names;
  const auto& routes = survey.cluster.meeting->routes;
  for (std::size_t i = 0; i < routes.size() && i < names.size(); ++i)
    names[i] = routes[i].interface;
  return names;
}

void measure_fabric(const JobSpec& spec, const ClusterCheckOptions& options, const Survey& survey,
                    CheckReport& report) {
  const std::vector<std::uint32_t> good = good_nodes(report);
  const auto backend = choose_backend(report.nodes, good);
  if (!survey.no_meeting.empty()) {
    report.not_measured = "the nodes do not reach each other";
  } else if (good.size() < 2) {
    report.not_measured = "with fewer than two good nodes there is nobody to exchange with";
  } else if (!backend) {
    report.not_measured = backend.error().message;
  }
  if (!report.not_measured.empty()) return;
  const auto data =
      run_fabric_check(spec, good, *backend, options.current_folder, options.verbosity);
  if (!data) {
    report.findings.push_back(
        {Severity::bad, {}, "fabric", "the measuring ranks failed: " + data.error().message, ""});
    return;
  }
  FabricContext context;
  context.nodes = good;
  context.min_busbw = options.min_busbw;
  context.nccl = *backend == MeasureBackend::nccl;
  context.interfaces = interfaces_of(survey);
  add_fabric(*data, context, report);
}

}  // namespace

Result<CheckReport> check_cluster(const JobSpec& spec, const ClusterCheckOptions& options) {
  const MonotonicTime began = monotonic_now();
  PlanContext context;
  context.launcher_env = environment_from_block(environ);
  context.current_folder = options.current_folder;
  auto survey = survey_nodes(spec, context, survey_options(options));
  if (!survey) return tl::unexpected(survey.error());
  if (const Status asked = ask_the_others(spec, context, survey_options(options), *survey); !asked)
    return tl::unexpected(asked.error());
  CheckReport report;
  report.nodes = survey->nodes;
  report.findings = findings_of(*survey, options);
  if (options.fabric) measure_fabric(spec, options, *survey, report);
  report.took_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(monotonic_now() - began).count();
  return report;
}

}  // namespace dlaunch
