#include "plan/rank_ports.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/candidates.h"
#include "plan/make_plan.h"
#include "plan/tf_config.h"

namespace dlaunch {

namespace {

/// The number of ports held per node if its number of ranks is not known yet: more than any node
/// has GPUs or MIG slices.
constexpr std::uint32_t kPortsWhenUnknown = 64;

/// Assigns a port to each task with an address in the cluster. The master's port is separate.
Status assign_task_ports(ClusterForm form, const Cluster& cluster, LaunchPlan& plan) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    std::vector<std::uint16_t> ports = cluster.nodes[i].facts.reserved_ports;
    std::erase(ports, plan.master.port);
    std::size_t needed = 0;
    for (const Rank rank : plan.nodes[i].ranks) {
      RankPlan& task = plan.ranks[rank.value];
      if (!has_address(form, task.role)) continue;
      if (needed < ports.size()) task.ports = {ports[needed]};
      ++needed;
    }
    if (ports.size() < needed) {
      return fail(exit_code::kPreflight, "only " + std::to_string(ports.size()) +
                                             " free ports were found on " + plan.nodes[i].name +
                                             ", but " + std::to_string(needed) + " are needed");
    }
  }
  return {};
}

/// An upper bound for the tasks with ports on one node.
std::uint32_t task_ports_wanted(const JobSpec& spec) {
  if (spec.launch == Launch::per_node) return 1;
  if (!spec.roles.empty()) {
    int tasks = 0;
    for (const RoleSpec& role : spec.roles) tasks += std::max(role.count, 0);
    return static_cast<std::uint32_t>(tasks);
  }
  if (spec.processes) return static_cast<std::uint32_t>(std::max(*spec.processes, 1));
  if (spec.processes_per_node.kind == ProcessesPerNode::Kind::count) {
    return static_cast<std::uint32_t>(std::max(spec.processes_per_node.count, 1));
  }
  if (spec.framework == Framework::gcp) return 1;
  std::uint32_t most = kPortsWhenUnknown;
  for (const HostSpec& host : spec.hosts.hosts)
    most = std::max(most, static_cast<std::uint32_t>(std::max(host.slots, 0)));
  return most;
}

}  // namespace

std::size_t nodes_of_job(const LaunchPlan& plan) {
  return std::max(plan.nodes.size(), plan.hosts.size());
}

bool needs_meeting(Framework framework) {
  return has_master(framework) || has_tasks(framework);
}

Status assign_ports(const JobSpec& spec, const Cluster& cluster, const Meeting& meeting,
                    LaunchPlan& plan) {
  if (has_master(spec.framework)) {
    auto master = choose_master(spec.rendezvous, cluster, meeting);
    if (!master) return tl::unexpected(master.error());
    plan.master = std::move(*master);
  } else if (spec.rendezvous.port != 0) {
    plan.notes.push_back("rendezvous.port is not used by framework: " +
                         std::string(name_of(spec.framework)));
  }
  if (has_tasks(spec.framework)) {
    const bool is_gcp = spec.framework == Framework::gcp;
    const auto form = is_gcp ? cluster_spec_form(spec) : tf_config_form(spec);
    if (const Status s = assign_task_ports(form, cluster, plan); !s)
      return tl::unexpected(s.error());
  }
  if (has_master(spec.framework)) plan.ranks.front().ports.push_back(plan.master.port);
  return {};
}

std::uint32_t ports_wanted(const JobSpec& spec) {
  const std::uint32_t of_master = has_master(spec.framework) && spec.rendezvous.port == 0 ? 1U : 0U;
  return of_master + (has_tasks(spec.framework) ? task_ports_wanted(spec) : 0U);
}

std::vector<std::uint16_t> fixed_ports(const JobSpec& spec) {
  if (!has_master(spec.framework) || spec.rendezvous.port == 0) return {};
  return {spec.rendezvous.port};
}

}  // namespace dlaunch
