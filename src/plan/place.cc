#include "plan/place.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string_view>
#include <tuple>

#include "text/strings.h"

namespace dlaunch {

namespace {

using Counts = std::vector<std::uint32_t>;  // ranks or GPUs; index = node

/// The number of tasks of each role on each node. `pool`: how many pooled tasks each node takes.
[[nodiscard]] Result<std::vector<Counts>> counts_of_roles(const std::vector<PlacedRole>&,
                                                          PlacementPolicy, Counts pool,
                                                          const Counts& gpus);

constexpr std::array<std::string_view, 4> kRoleOrder = {"chief", "worker", "ps", "evaluator"};

/// TensorFlow: "There must be at most one 'chief' job", "at most one 'evaluator' job"
/// (tensorflow/python/distribute/multi_worker_util.py). AI Platform: exactly one master
/// (TrainingInput.masterType).
Status check_roles(const JobSpec& spec) {
  bool has_chief = false;
  bool trains = false;
  for (const RoleSpec& role : spec.roles) {
    if (role.count <= 0) continue;
    if (!contains(kRoleOrder, role.name)) {
      return fail(exit_code::kJobFile,
                  "unknown role \"" + role.name + "\"; there are chief, worker, ps and evaluator");
    }
    if ((role.name == "chief" || role.name == "evaluator") && role.count > 1)
      return fail(exit_code::kJobFile, "a job has at most one " + role.name + " (roles)");
    if (role.nodes && *role.nodes > role.count) {
      return fail(exit_code::kJobFile,
                  "role " + role.name + ": \"nodes: " + std::to_string(*role.nodes) +
                      "\" but only \"count: " + std::to_string(role.count) + "\"");
    }
    has_chief = has_chief || role.name == "chief";
    trains = trains || role.name == "chief" || role.name == "worker";
  }
  if (!trains)
    return fail(exit_code::kJobFile,
                "roles has neither a chief nor a worker; give at least one of them");
  if (spec.framework == Framework::gcp && !has_chief)
    return fail(exit_code::kJobFile,
                "\"framework: gcp\" needs a chief, which has rank 0: roles: {chief: 1, ...}");
  return {};
}

bool is_compute(const PlacedRole& role) {
  return role.name == "chief" || role.name == "worker";
}

/// Spreads ranks evenly; the first nodes get the extra ones.
Counts spread_evenly(std::uint32_t ranks, std::size_t nodes) {
  Counts counts(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    counts[i] = static_cast<std::uint32_t>(ranks / nodes + (i < ranks % nodes ? 1 : 0));
  }
  return counts;
}

/// Each task goes to the node with the fewest tasks so far, counting those in `placed` (of each
/// role on each node); ties go to the first node.
Counts spread_beside(const std::vector<Counts>& placed, std::size_t nodes, std::uint32_t tasks) {
  Counts all(nodes, 0);
  for (const Counts& role : placed)
    std::transform(all.begin(), all.end(), role.begin(), all.begin(), std::plus<>());
  Counts counts(nodes, 0);
  for (; tasks > 0; --tasks) {
    const auto node = std::min_element(all.begin(), all.end()) - all.begin();
    ++all[static_cast<std::size_t>(node)];
    ++counts[static_cast<std::size_t>(node)];
  }
  return counts;
}

/// The number of ranks of one role on each node. `pool`: how many chief and worker tasks each node
/// may still take; for these roles, the result is subtracted from it.
Result<Counts> counts_of_role(const PlacedRole& role, std::size_t nodes, Counts& pool) {
  if (role.spec->nodes) {
    const auto own = static_cast<std::size_t>(std::max(*role.spec->nodes, 1));
    if (own > nodes) {
      return fail(exit_code::kJobFile, "role " + role.name + ": \"nodes: " + std::to_string(own) +
                                           "\" but the job has only " + counted(nodes, "node"));
    }
    Counts counts = spread_evenly(role.size, own);
    counts.resize(nodes, 0);
    return counts;
  }
  if (!is_compute(role)) return spread_evenly(role.size, nodes);
  Counts counts(nodes, 0);
  std::uint32_t left = role.size;
  for (std::size_t i = 0; i < nodes && left > 0; ++i) {
    counts[i] = std::min(left, pool[i]);
    pool[i] -= counts[i];
    left -= counts[i];
  }
  return counts;
}

/// The evaluator computes rarely and no rank waits for it, so a leftover GPU suffices.
Counts counts_of_evaluator(const std::vector<PlacedRole>& roles, const std::vector<Counts>& placed,
                           PlacementPolicy policy, const Counts& gpus) {
  using Rating = std::tuple<bool, int, int>;  // idle (only with spread); free GPUs; minus the tasks
  std::vector<Rating> ratings;
  bool used = true;  // nodes are used in order, so the loop stops after the first unused one
  for (std::size_t node = 0; node < gpus.size() && used; ++node) {
    int computing = 0;
    int tasks = 0;
    for (std::size_t role = 0; role < placed.size(); ++role) {
      const int here = static_cast<int>(placed[role][node]);
      tasks += here;
      if (is_compute(roles[role])) computing += here;
    }
    const bool is_idle = policy == PlacementPolicy::spread && tasks == 0;
    ratings.emplace_back(is_idle, std::max(static_cast<int>(gpus[node]) - computing, 0), -tasks);
    used = tasks > 0;
  }
  Counts counts(gpus.size(), 0);
  counts[static_cast<std::size_t>(std::max_element(ratings.begin(), ratings.end()) -
                                  ratings.begin())] = 1;
  return counts;
}

/// The roles with at least one task, in the order of their ranks. Errors name the number that does
/// not fit.
Result<std::vector<PlacedRole>> placed_roles(const JobSpec& spec) {
  if (const Status s = check_roles(spec); !s) return tl::unexpected(s.error());
  std::vector<PlacedRole> roles;
  for (const std::string_view name : kRoleOrder) {
    for (const RoleSpec& role : spec.roles) {
      if (role.name == name && role.count > 0) {
        roles.push_back({role.name, &role, static_cast<std::uint32_t>(role.count)});
      }
    }
  }
  return roles;
}

/// The number of chief and worker tasks, excluding roles with their own nodes.
std::uint32_t pooled_tasks(const std::vector<PlacedRole>& roles) {
  std::uint32_t tasks = 0;
  for (const PlacedRole& role : roles)
    tasks += !is_compute(role) || role.spec->nodes ? 0 : role.size;
  return tasks;
}

Result<std::vector<Counts>> counts_of_roles(const std::vector<PlacedRole>& roles,
                                            PlacementPolicy policy, Counts pool,
                                            const Counts& gpus) {
  std::vector<Counts> all;
  for (const PlacedRole& role : roles) {
    if (role.name == "evaluator" && !role.spec->nodes) {
      all.push_back(counts_of_evaluator(roles, all, policy, gpus));
      continue;
    }
    if (policy == PlacementPolicy::spread && role.name == "ps" && !role.spec->nodes) {
      all.push_back(spread_beside(all, gpus.size(), role.size));
      continue;
    }
    auto counts = counts_of_role(role, gpus.size(), pool);
    if (!counts) return tl::unexpected(counts.error());
    all.push_back(std::move(*counts));
  }
  return all;
}

tl::unexpected<Error> misfit(std::string message) {
  return fail(exit_code::kJobFile, std::move(message));
}

std::uint32_t total_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0U);
}

Result<std::size_t> nodes_to_use(const JobSpec& spec, const Cluster& cluster) {
  const std::size_t given = cluster.nodes.size();
  if (given == 0) return misfit("no hosts are given");
  if (!spec.nodes) return given;
  if (static_cast<std::size_t>(std::max(spec.nodes->min, 1)) > given) {
    const bool only_here = given == 1 && cluster.nodes.front().is_launcher;
    return misfit(too_few_hosts(spec, given, only_here ? "this machine" : ""));
  }
  return std::min(given, static_cast<std::size_t>(std::max(spec.nodes->max, 1)));
}

/// Spreads ranks evenly within each node's `room` (GPUs or slots). Requires ranks <= sum of room,
/// and room on every node.
Counts spread_within(const Counts& room, std::uint32_t ranks) {
  Counts counts(room.size());
  std::uint32_t placed = 0;
  for (std::uint32_t level = 1; placed < ranks; ++level) {
    for (std::size_t i = 0; i < room.size() && placed < ranks; ++i) {
      if (room[i] < level) continue;
      ++counts[i];
      ++placed;
    }
  }
  return counts;
}

/// The slots of each node. In a list with slots, a node without them counts one per GPU, else 1.
Counts slots_of(const Cluster& cluster, const Counts& gpus) {
  Counts slots(gpus.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const int given = cluster.nodes[i].slots;
    slots[i] = given > 0 ? static_cast<std::uint32_t>(given) : std::max(gpus[i], 1U);
  }
  return slots;
}

/// Fills the nodes in order. Requires ranks <= sum of slots.
Counts fill(const Counts& slots, std::uint32_t ranks) {
  Counts counts(slots.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = std::min(ranks, slots[i]);
    ranks -= counts[i];
  }
  return counts;
}

/// `typed`: the user's spelling, for the error.
Result<Counts> distribute(std::uint32_t ranks, const JobSpec& spec, const Cluster& cluster,
                          const Counts& gpus, const std::string& typed) {
  const auto has_slots = [](const Node& node) { return node.slots > 0; };
  const auto end = cluster.nodes.begin() + static_cast<std::ptrdiff_t>(gpus.size());
  if (std::any_of(cluster.nodes.begin(), end, has_slots)) {
    const Counts slots = slots_of(cluster, gpus);
    if (ranks > total_of(slots)) {
      return misfit(too_few_slots(typed, slots.size(), total_of(slots)));
    }
    return spec.placement == PlacementPolicy::spread ? spread_within(slots, ranks)
                                                     : fill(slots, ranks);
  }
  const bool gpus_everywhere =
      std::all_of(gpus.begin(), gpus.end(), [](std::uint32_t n) { return n > 0; });
  if (gpus_everywhere && ranks <= total_of(gpus)) return spread_within(gpus, ranks);
  return spread_evenly(ranks, gpus.size());
}

Result<std::uint32_t> ranks_of_node(const JobSpec& spec, const Node& node, std::uint32_t gpus,
                                    bool is_assumed) {
  const ProcessesPerNode& wanted = spec.processes_per_node;
  const std::uint32_t slots = static_cast<std::uint32_t>(std::max(node.slots, 0));
  switch (wanted.kind) {
    case ProcessesPerNode::Kind::count:
      if (slots > 0 && static_cast<std::uint32_t>(wanted.count) > slots) {
        return misfit(as_typed(spec, "processes_per_node", std::to_string(wanted.count)) + " but " +
                      node.name + " has only " + counted(slots, "slot"));
      }
      return static_cast<std::uint32_t>(std::max(wanted.count, 1));
    case ProcessesPerNode::Kind::gpu:
      if (is_assumed && slots > 0) return slots;
      if (is_assumed) {
        return misfit(
            as_typed(spec, "processes_per_node", "gpu") +
            " needs to know the GPUs of the nodes, which are unknown with --offline; give "
            "the hosts slots");
      }
      if (gpus == 0) {
        return misfit(
            as_typed(spec, "processes_per_node", "gpu") + " but " + node.name +
            (node.facts.gpus.empty() ? " has no GPU" : " has no GPU that the job may use") +
            "\n         try: -n N, a number of processes without regard to GPUs");
      }
      if (static_cast<std::uint32_t>(wanted.count) > gpus) {
        return misfit(as_typed(spec, "processes_per_node", "gpu") + " but " + node.name +
                      " has only " + counted(gpus, "GPU") + " that the job may use");
      }
      if (wanted.count > 0) gpus = static_cast<std::uint32_t>(wanted.count);
      return slots > 0 ? std::min(slots, gpus) : gpus;
    case ProcessesPerNode::Kind::automatic:
      break;
  }
  if (gpus == 0) return std::max(slots, 1U);
  return slots > 0 ? std::min(slots, gpus) : gpus;
}

/// The number of ranks on each node, for a job without roles.
Result<Counts> counts_without_roles(const JobSpec& spec, const Cluster& cluster,
                                    const Counts& gpus) {
  if (spec.launch == Launch::per_node) {
    const bool counts_processes = spec.processes_per_node.kind == ProcessesPerNode::Kind::count;
    if ((counts_processes && spec.processes_per_node.count != 1) || spec.processes) {
      const std::string key = spec.processes ? "processes" : "processes_per_node";
      const auto typed = spec.typed.find(key);
      return misfit(as_typed(spec, "launch", "per-node") +
                    " starts one process on each node; leave out " +
                    (typed == spec.typed.end() ? key : typed->second));
    }
    return Counts(gpus.size(), 1);
  }
  if (spec.processes) {
    const auto ranks = static_cast<std::uint32_t>(std::max(*spec.processes, 1));
    if (spec.nodes && ranks < static_cast<std::uint32_t>(spec.nodes->min)) {
      return misfit(as_typed(spec, "nodes", std::to_string(spec.nodes->min)) + " but only " +
                    (ranks == 1 ? "1 process is asked for"
                                : std::to_string(ranks) + " processes are asked for"));
    }
    return distribute(ranks, spec, cluster, gpus,
                      as_typed(spec, "processes", std::to_string(ranks)));
  }
  if (spec.framework == Framework::gcp) {
    if (spec.processes_per_node.kind != ProcessesPerNode::Kind::automatic) {
      return misfit(
          "\"framework: gcp\" starts one process for each machine of the service; leave out "
          "processes_per_node, and use processes or roles to start several on a node");
    }
    return Counts(gpus.size(), 1);
  }
  Counts counts;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto here = ranks_of_node(spec, cluster.nodes[i], gpus[i], cluster.is_assumed);
    if (!here) return tl::unexpected(here.error());
    counts.push_back(*here);
  }
  return counts;
}

/// Numbers the ranks by role, then by node, and counts local ranks on each node.
void number_ranks(const std::vector<Counts>& counts, Placement& placement) {
  placement.per_node.assign(counts.front().size(), 0);
  for (std::uint32_t role = 0; role < counts.size(); ++role) {
    std::uint32_t role_rank = 0;
    for (std::uint32_t node = 0; node < counts[role].size(); ++node) {
      for (std::uint32_t i = 0; i < counts[role][node]; ++i) {
        placement.ranks.push_back(
            {NodeRank(node), LocalRank(placement.per_node[node]++), role, role_rank++});
      }
    }
  }
  while (placement.per_node.size() > 1 && placement.per_node.back() == 0)
    placement.per_node.pop_back();
}

/// As in AI Platform: rank 0 is the master worker, the other ranks are workers.
void split_off_chief(Counts counts, Placement& placement) {
  Counts chief(counts.size(), 0);
  chief.front() = 1;
  placement.roles = {{"chief", nullptr, 1}};
  --counts.front();
  if (const std::uint32_t workers = total_of(counts); workers == 0) {
    number_ranks({std::move(chief)}, placement);
  } else {
    placement.roles.push_back({"worker", nullptr, workers});
    number_ranks({std::move(chief), std::move(counts)}, placement);
  }
}

/// Notes which nodes the job uses: the first ones.
void note_nodes(Placement& placement) {
  placement.nodes.resize(std::max(placement.per_node.size(), placement.slots.size()));
  std::iota(placement.nodes.begin(), placement.nodes.end(), 0U);
}

void number_without_roles(const JobSpec& spec, Counts counts, Placement& placement) {
  if (spec.framework == Framework::gcp) return split_off_chief(std::move(counts), placement);
  if (spec.launch == Launch::once) {
    // Hosts without `processes` are not in the hostfile.
    while (counts.back() == 0) counts.pop_back();
    placement.slots = std::move(counts);
    counts = {1};
  }
  placement.roles = {
      {spec.framework == Framework::tensorflow ? "worker" : "default", nullptr, total_of(counts)}};
  number_ranks({std::move(counts)}, placement);
}

}  // namespace

Result<Placement> place(const JobSpec& spec, const Cluster& cluster,
                        const std::vector<std::uint32_t>& gpus) {
  const auto nodes = nodes_to_use(spec, cluster);
  if (!nodes) return tl::unexpected(nodes.error());
  const Counts usable(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(*nodes));
  Placement placement;
  placement.nodes_available = *nodes;
  if (spec.roles.empty()) {
    auto counts = counts_without_roles(spec, cluster, usable);
    if (!counts) return tl::unexpected(counts.error());
    number_without_roles(spec, std::move(*counts), placement);
    note_nodes(placement);
    return placement;
  }
  auto roles = placed_roles(spec);
  if (!roles) return tl::unexpected(roles.error());
  placement.roles = std::move(*roles);
  const std::uint32_t tasks = pooled_tasks(placement.roles);
  auto pool = distribute(tasks, spec, cluster, usable,
                         "\"roles: " + counted(tasks, "chief and worker task") + '"');
  if (!pool) return tl::unexpected(pool.error());
  const auto counts = counts_of_roles(placement.roles, spec.placement, std::move(*pool), usable);
  if (!counts) return tl::unexpected(counts.error());
  number_ranks(*counts, placement);
  note_nodes(placement);
  return placement;
}

}  // namespace dlaunch
