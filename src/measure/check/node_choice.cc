#include "measure/check/node_choice.h"

#include <algorithm>
#include <optional>
#include <set>

#include "text/strings.h"

namespace dlaunch {

namespace {

using Severity = CheckFinding::Severity;

/// The worst finding about the node; empty: none.
std::string fault_of(const CheckReport& report, std::uint32_t node) {
  for (const CheckFinding& one : report.findings) {
    if (one.severity == Severity::bad && one.nodes == std::vector{node})
      return first_line(one.text);
  }
  return {};
}

/// The other end of a slow link, if it is already chosen.
std::optional<std::uint32_t> slow_partner(const CheckReport& report, std::uint32_t node,
                                          const std::set<std::uint32_t>& chosen) {
  for (const CheckFinding& one : report.findings) {
    if (one.severity != Severity::bad || one.nodes.size() != 2) continue;
    if (one.nodes[0] == node && chosen.contains(one.nodes[1])) return one.nodes[1];
    if (one.nodes[1] == node && chosen.contains(one.nodes[0])) return one.nodes[0];
  }
  return std::nullopt;
}

}  // namespace

namespace {

/// With more nodes than processes, some nodes would have none.
int most_nodes(const JobSpec& spec) {
  int processes = spec.processes.value_or(0);
  for (const RoleSpec& role : spec.roles) processes += role.count;
  return std::max(processes > 0 ? std::min(spec.nodes->max, processes) : spec.nodes->max, 1);
}

}  // namespace

NodesWanted nodes_wanted(const JobSpec& spec, std::size_t hosts) {
  const auto spares = static_cast<std::size_t>(std::max(spec.spares, 0));
  NodesWanted wanted;
  if (spec.nodes) {
    wanted.least = static_cast<std::size_t>(std::max(spec.nodes->min, 1));
    wanted.best = std::min(hosts, static_cast<std::size_t>(most_nodes(spec)));
  } else {
    wanted.best = hosts > spares ? hosts - spares : 1;
    wanted.least = wanted.best;
  }
  wanted.best = std::max(wanted.best, wanted.least);
  wanted.hosts = std::min(hosts, wanted.best + spares);
  return wanted;
}

Result<NodeChoice> choose_nodes(const NodesWanted& wanted, const CheckReport& report) {
  for (const CheckFinding& one : report.findings) {
    if (one.severity == Severity::bad && one.nodes.empty())
      return fail(exit_code::kPreflight, "preflight failed: " + first_line(one.text));
  }
  NodeChoice choice;
  std::set<std::uint32_t> chosen;
  std::vector<std::string> left_out;
  for (std::uint32_t node = 0; node < report.nodes.size(); ++node) {
    std::string fault = fault_of(report, node);
    if (chosen.size() == wanted.best) {
      if (fault.empty() && node < wanted.hosts) choice.spares.push_back(node);
      continue;
    }
    const auto partner = slow_partner(report, node, chosen);
    if (fault.empty() && partner)
      fault = "the link between it and " + report.nodes[*partner].name + " is slow";
    if (fault.empty()) {
      chosen.insert(node);
    } else {
      left_out.push_back(report.nodes[node].name + ": " + fault);
    }
  }
  choice.nodes.assign(chosen.begin(), chosen.end());
  if (chosen.size() < wanted.least) {
    return fail(exit_code::kPreflight,
                "preflight failed: " + counted(chosen.size(), "good node") + ", the job needs " +
                    std::to_string(wanted.least) + "\n         try: spares, or nodes: {min: " +
                    std::to_string(std::max<std::size_t>(chosen.size(), 1)) +
                    ", max: " + std::to_string(wanted.best) + "}, or --no-preflight");
  }
  const std::size_t beyond = static_cast<std::size_t>(std::count_if(
      chosen.begin(), chosen.end(), [&](std::uint32_t node) { return node >= wanted.best; }));
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    // Spares replace bad nodes in the order of the hosts.
    const bool is_replaced = i < beyond;
    const std::string by =
        is_replaced ? "replaced by " + report.nodes[choice.nodes[chosen.size() - beyond + i]].name
                    : "left out";
    choice.notes.push_back("preflight: " + left_out[i] + "; " + by);
  }
  if (chosen.size() < wanted.best)
    choice.notes.push_back("preflight: the job runs on " + counted(chosen.size(), "node") +
                           " of at most " + std::to_string(wanted.best));
  return choice;
}

std::vector<std::string> unmeasured_notes(const CheckReport& report) {
  std::vector<std::string> notes;
  if (!report.not_measured.empty())
    notes.push_back("preflight: not measured: " + report.not_measured);
  for (const CheckFinding& one : report.findings) {
    if (one.severity != Severity::note || one.code != "nccl") continue;
    notes.push_back("preflight: " + one.text + (one.remedy.empty() ? "" : "; try: " + one.remedy));
  }
  return notes;
}

void settle_nodes(const NodeChoice& choice, JobSpec& spec) {
  if (!spec.hosts.hosts.empty()) {
    std::vector<HostSpec> hosts;
    hosts.reserve(choice.nodes.size() + choice.spares.size());
    for (const std::uint32_t node : choice.nodes) hosts.push_back(spec.hosts.hosts[node]);
    for (const std::uint32_t node : choice.spares) hosts.push_back(spec.hosts.hosts[node]);
    spec.hosts.hosts = std::move(hosts);
  }
  const int count = static_cast<int>(choice.nodes.size());
  spec.nodes = NodeRange{spec.nodes ? std::min(spec.nodes->min, count) : count, count};
  spec.spares = static_cast<int>(choice.spares.size());
}

}  // namespace dlaunch
