#include "jobfile/slurm_fit.h"

#include <algorithm>
#include <string>
#include <vector>

#include "text/strings.h"

namespace dlaunch {

namespace {

using Nodes = std::vector<SlurmNode>;

/// A countable resource of nodes.
struct Kind {
  int SlurmNode::*of;
  const char* name;
};
constexpr Kind kTasks{&SlurmNode::tasks, "task"};
constexpr Kind kCpus{&SlurmNode::cpus, "CPU"};
constexpr Kind kGpus{&SlurmNode::gpus, "GPU"};

/// The node that has the least of the resource; null: not known for all nodes.
const SlurmNode* least(const Nodes& nodes, Kind kind) {
  const auto found = std::min_element(
      nodes.begin(), nodes.end(),
      [&](const SlurmNode& a, const SlurmNode& b) { return a.*kind.of < b.*kind.of; });
  return found == nodes.end() || (*found).*kind.of == 0 ? nullptr : &*found;
}

/// The sum over all nodes; 0: not known for all nodes.
long sum_of(const Nodes& nodes, Kind kind) {
  if (least(nodes, kind) == nullptr) return 0;
  long sum = 0;
  for (const SlurmNode& node : nodes) sum += node.*kind.of;
  return sum;
}

/// `wanted`: the job's keys as typed, `has`: "2 nodes", `ask`: what to type instead.
Status too_few(const std::string& wanted, const SlurmAllocation& allocation, const std::string& has,
               const std::string& ask) {
  return fail(exit_code::kJobFile, wanted + " but the Slurm allocation (job " + allocation.job +
                                       ") has " + has + "\n         try: " + ask);
}

std::string in_quotes(const std::string& key, long value) {
  return '"' + key + ": " + std::to_string(value) + '"';
}

std::string option(const char* name, long value) {
  return std::string("--") + name + '=' + std::to_string(value);
}

/// The number that each node needs, so that the nodes reach the total.
long per_node(long all, const Nodes& nodes) {
  const auto count = static_cast<long>(std::max<std::size_t>(nodes.size(), 1));
  return (all + count - 1) / count;
}

/// Whether more ranks than CPUs are intended.
bool may_share_cpus(const JobSpec& job) {
  return uses_mpi(job.framework) && job.mpi.oversubscribe;
}

constexpr const char* kOrNoGpus = ", or binding.gpus: none";

Status check_nodes(const JobSpec& job, const SlurmAllocation& allocation) {
  const auto has = static_cast<long>(allocation.nodes.size());
  for (const RoleSpec& role : job.roles) {
    if (role.count > 0 && role.nodes && *role.nodes > has)
      return too_few("role " + role.name + ": " + in_quotes("nodes", *role.nodes), allocation,
                     counted(has, "node"),
                     option("nodes", *role.nodes) + " for salloc or sbatch, or nodes: " +
                         std::to_string(has) + " for the role");
  }
  if (!job.nodes) return {};
  const long wanted = static_cast<long>(job.nodes->min) + job.spares;
  if (wanted <= has) return {};
  const std::string spares = job.spares > 0 ? " and " + in_quotes("spares", job.spares) : "";
  const long fits = std::max(has - job.spares, 1L);
  const std::string here = has > job.spares ? ", or nodes: " + std::to_string(fits) + " in the job"
                                            : ", or fewer spares in the job";
  return too_few(in_quotes("nodes", job.nodes->min) + spares, allocation, counted(has, "node"),
                 option("nodes", wanted) + " for salloc or sbatch" + here);
}

Status check_per_node(const JobSpec& job, const SlurmAllocation& allocation, const Nodes& nodes) {
  constexpr const char* kKey = "processes_per_node";
  if (job.processes_per_node.kind != ProcessesPerNode::Kind::count) return {};
  const int wanted = job.processes_per_node.count;
  const auto check = [&](Kind kind, const std::string& ask, const std::string& last) -> Status {
    const SlurmNode* node = least(nodes, kind);
    if (node == nullptr || wanted <= node->*kind.of) return {};
    const int has = node->*kind.of;
    return too_few(in_quotes(kKey, wanted), allocation,
                   counted(has, kind.name) + " on " + node->name,
                   ask + ", or " + kKey + ": " + std::to_string(has) + last);
  };
  const std::string ask = option("ntasks-per-node", wanted);
  if (Status tasks = check(kTasks, ask, ""); !tasks) return tasks;
  Status cpus = check(kCpus, ask + " or more --cpus-per-task", "");
  if (!cpus && !may_share_cpus(job)) return cpus;
  if (!has_gpu_for_each_rank(job)) return {};
  if (Status gpus = check(kGpus, option("gpus-per-node", wanted), kOrNoGpus); !gpus) return gpus;
  const long all = static_cast<long>(wanted) * static_cast<long>(nodes.size());
  if (allocation.gpus == 0 || all <= allocation.gpus) return {};
  return too_few(
      in_quotes(kKey, wanted), allocation,
      counted(allocation.gpus, "GPU") + " on " + counted(static_cast<long>(nodes.size()), "node"),
      option("gpus-per-node", wanted) + kOrNoGpus);
}

/// `wanted`: ranks of the whole job, from `keys`; `less`: the replacement to suggest, or nothing.
Status check_sum(const JobSpec& job, const std::string& keys, long wanted,
                 const SlurmAllocation& allocation, const Nodes& nodes, const std::string& less) {
  const auto here = [&](long has) { return less.empty() ? less : less + std::to_string(has); };
  const long tasks = sum_of(nodes, kTasks);
  const std::string ask = option("ntasks", wanted);
  if (tasks > 0 && wanted > tasks)
    return too_few(keys, allocation, counted(tasks, "task"), ask + here(tasks));
  const long cpus = sum_of(nodes, kCpus);
  if (cpus > 0 && wanted > cpus && !may_share_cpus(job))
    return too_few(keys, allocation, counted(cpus, "CPU"), ask + here(cpus));
  return {};
}

/// GPUs of all nodes together; 0: unknown.
long gpus_of(const SlurmAllocation& allocation, const Nodes& nodes) {
  const long sum = sum_of(nodes, kGpus);
  return sum > 0 ? sum : allocation.gpus;
}

/// Ranks fill the nodes in order, one per task, so a node may get more ranks than it has GPUs.
Status check_filled(const JobSpec& job, const SlurmAllocation& allocation, const Nodes& nodes) {
  if (least(nodes, kTasks) == nullptr || least(nodes, kGpus) == nullptr) return {};
  long left = *job.processes;
  for (const SlurmNode& node : nodes) {
    const long here = std::min<long>(left, node.tasks);
    left -= here;
    if (here <= node.gpus) continue;
    return too_few(in_quotes("processes", *job.processes) + " puts " + counted(here, "rank") +
                       " on " + node.name + ", by its number of tasks,",
                   allocation, counted(node.gpus, "GPU") + " there",
                   option("ntasks-per-node", node.gpus) + kOrNoGpus);
  }
  return {};
}

Status check_total(const JobSpec& job, const SlurmAllocation& allocation, const Nodes& nodes) {
  if (!job.processes) return {};
  const std::string keys = in_quotes("processes", *job.processes);
  if (Status sum = check_sum(job, keys, *job.processes, allocation, nodes, ", or processes: ");
      !sum)
    return sum;
  if (!has_gpu_for_each_rank(job)) return {};
  const long gpus = gpus_of(allocation, nodes);
  if (gpus > 0 && *job.processes > gpus)
    return too_few(keys, allocation, counted(gpus, "GPU"),
                   option("gpus-per-node", per_node(*job.processes, nodes)) +
                       ", or processes: " + std::to_string(gpus) + kOrNoGpus);
  return job.placement == PlacementPolicy::fill ? check_filled(job, allocation, nodes) : Status();
}

/// A role with its own number of nodes is spread evenly over that many of the first nodes.
Status check_role_nodes(const SlurmAllocation& allocation, const Nodes& nodes,
                        const RoleSpec& role) {
  if (role.count <= 0 || !role.nodes || *role.nodes < 1) return {};
  const auto own = std::min(static_cast<std::size_t>(*role.nodes), nodes.size());
  const Nodes first(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(own));
  const long wanted = per_node(role.count, first);
  for (const Kind kind : {kTasks, kCpus}) {
    const SlurmNode* node = least(first, kind);
    if (node == nullptr || wanted <= node->*kind.of) continue;
    return too_few("role " + role.name + ": " + in_quotes("count", role.count) + " on " +
                       counted(static_cast<long>(own), "node"),
                   allocation, counted(node->*kind.of, kind.name) + " on " + node->name,
                   option("ntasks-per-node", wanted) + ", or more nodes for the role");
  }
  return {};
}

Status check_roles(const JobSpec& job, const SlurmAllocation& allocation, const Nodes& nodes) {
  long all = 0;
  std::string list;
  for (const RoleSpec& role : job.roles) {
    if (role.count <= 0) continue;
    all += role.count;
    list += (list.empty() ? "" : ", ") + role.name + ": " + std::to_string(role.count);
  }
  if (all == 0) return {};
  const std::string keys =
      "\"roles: {" + list + "}\", " + std::to_string(all) + (all == 1 ? " process" : " processes");
  if (Status sum = check_sum(job, keys, all, allocation, nodes, ""); !sum) return sum;
  for (const RoleSpec& role : job.roles) {
    if (Status own = check_role_nodes(allocation, nodes, role); !own) return own;
  }
  const long computing = computing_tasks(job);
  const long gpus = gpus_of(allocation, nodes);
  if (job.binding.gpus != Binding::Gpus::one_per_process || gpus == 0 || computing <= gpus)
    return {};
  return too_few(keys + ", of which " + std::to_string(computing) +
                     " need a GPU each (binding.gpus: one-per-process),",
                 allocation, counted(gpus, "GPU"),
                 option("gpus-per-node", per_node(computing, nodes)) + ", or binding.gpus: all");
}

}  // namespace

bool has_gpu_for_each_rank(const JobSpec& job) {
  return job.launch == Launch::per_process && job.binding.gpus != Binding::Gpus::none &&
         job.roles.empty();
}

long computing_tasks(const JobSpec& job) {
  long all = 0;
  for (const RoleSpec& role : job.roles) {
    if (role.name != "ps" && role.name != "evaluator") all += std::max(role.count, 0);
  }
  return all;
}

Status check_allocation(const JobSpec& job, const SlurmAllocation& allocation) {
  if (Status nodes = check_nodes(job, allocation); !nodes) return nodes;
  if (job.launch == Launch::per_node) return {};
  Nodes nodes = allocation.nodes;
  if (job.nodes && static_cast<std::size_t>(job.nodes->max) < nodes.size())
    nodes.resize(static_cast<std::size_t>(std::max(job.nodes->max, 1)));
  if (Status ranks = check_per_node(job, allocation, nodes); !ranks) return ranks;
  if (Status total = check_total(job, allocation, nodes); !total) return total;
  return check_roles(job, allocation, nodes);
}

}  // namespace dlaunch
