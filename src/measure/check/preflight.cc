#include "measure/check/preflight.h"

#include <algorithm>
#include <cstdio>

#include "measure/check/check_output.h"
#include "measure/check/cluster_check.h"
#include "measure/check/node_choice.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

bool asks_for(const JobSpec& spec, Preflight::Check check) {
  return contains(spec.preflight.checks, check);
}

void say(const std::string& text) {
  std::fprintf(stderr, "%s", plain_text(wrapped_statement(text)).c_str());
}

std::size_t hosts_of(const JobSpec& spec) {
  return std::max<std::size_t>(spec.hosts.hosts.size(), 1);
}

}  // namespace

void settle_without_check(JobSpec& spec) {
  const bool is_elastic = spec.nodes && spec.nodes->min != spec.nodes->max;
  if (spec.spares == 0 && !is_elastic) return;
  const NodesWanted wanted = nodes_wanted(spec, hosts_of(spec));
  CheckReport unchecked;
  unchecked.nodes.resize(wanted.hosts);
  if (const auto choice = choose_nodes(wanted, unchecked)) settle_nodes(*choice, spec);
}

Result<PreflightResult> run_preflight(JobSpec& spec, const PreflightOptions& options) {
  if (options.skip || spec.preflight.checks.empty()) {
    settle_without_check(spec);
    return PreflightResult();
  }
  const NodesWanted wanted = nodes_wanted(spec, hosts_of(spec));
  ClusterCheckOptions check;
  check.nodes = asks_for(spec, Preflight::Check::node);
  check.reach = asks_for(spec, Preflight::Check::reach);
  check.fabric = asks_for(spec, Preflight::Check::fabric);
  check.job_needs = check.nodes;
  check.min_busbw = spec.preflight.min_busbw_gbs;
  check.current_folder = options.current_folder;
  check.verbosity = options.verbosity;
  JobSpec all = spec;
  if (!all.hosts.hosts.empty() && all.hosts.hosts.size() > wanted.hosts)
    all.hosts.hosts.resize(wanted.hosts);
  all.nodes.reset();
  all.spares = 0;
  const auto report = check_cluster(all, check);
  if (!report) return tl::unexpected(report.error());
  auto choice = choose_nodes(wanted, *report);
  if (!choice) {
    std::fprintf(stderr, "%s", plain_text(check_text(*report)).c_str());
    return tl::unexpected(choice.error());
  }
  for (std::string& note : unmeasured_notes(*report)) choice->notes.push_back(std::move(note));
  for (const std::string& note : choice->notes) {
    if (!options.quiet) say("note: " + note);
  }
  if (!options.quiet)
    say("preflight: " + check_verdict(*report) + " (" +
        duration_text(std::chrono::milliseconds(report->took_ms)) + ')');
  settle_nodes(*choice, spec);
  return PreflightResult{std::move(choice->notes), check_text(*report)};
}

}  // namespace dlaunch
