#include "plan/place_roles.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string_view>
#include <tuple>

namespace dlaunch {

namespace {

constexpr std::array<std::string_view, 4> kRoleOrder = {"chief", "worker", "ps", "evaluator"};

/// TensorFlow: "There must be at most one 'chief' job", "at most one 'evaluator' job"
/// (tensorflow/python/distribute/multi_worker_util.py). AI Platform: exactly one master
/// (TrainingInput.masterType).
Status check_roles(const JobSpec& spec) {
  bool has_chief = false;
  bool trains = false;
  for (const RoleSpec& role : spec.roles) {
    if (role.count <= 0) continue;
    if (std::find(kRoleOrder.begin(), kRoleOrder.end(), role.name) == kRoleOrder.end()) {
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

/// Each task goes to the node with the fewest tasks in `placed` (of each role on each node) so far;
/// ties go to the first.
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

/// Ranks of one role on each node. `pool`: what chief and worker may still take on each node;
/// reduced by the result.
Result<Counts> counts_of_role(const PlacedRole& role, std::size_t nodes, Counts& pool) {
  if (role.spec->nodes) {
    const auto own = static_cast<std::size_t>(std::max(*role.spec->nodes, 1));
    if (own > nodes) {
      return fail(exit_code::kJobFile, "role " + role.name + ": \"nodes: " + std::to_string(own) +
                                           "\" but the job has only " + std::to_string(nodes) +
                                           (nodes == 1 ? " node" : " nodes"));
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
                           Placing placing, const Counts& gpus) {
  using Rating = std::tuple<bool, int, int>;  // idle (counts for spread); free GPUs; fewer tasks
  std::vector<Rating> ratings;
  bool used = true;  // nodes are used in order: stop after the first unused one
  for (std::size_t node = 0; node < gpus.size() && used; ++node) {
    int computing = 0;
    int tasks = 0;
    for (std::size_t role = 0; role < placed.size(); ++role) {
      const int here = static_cast<int>(placed[role][node]);
      tasks += here;
      if (is_compute(roles[role])) computing += here;
    }
    const bool is_idle = placing == Placing::spread && tasks == 0;
    ratings.emplace_back(is_idle, std::max(static_cast<int>(gpus[node]) - computing, 0), -tasks);
    used = tasks > 0;
  }
  Counts counts(gpus.size(), 0);
  counts[static_cast<std::size_t>(std::max_element(ratings.begin(), ratings.end()) -
                                  ratings.begin())] = 1;
  return counts;
}

}  // namespace

Counts spread_evenly(std::uint32_t ranks, std::size_t nodes) {
  Counts counts(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    counts[i] = static_cast<std::uint32_t>(ranks / nodes + (i < ranks % nodes ? 1 : 0));
  }
  return counts;
}

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

std::uint32_t pooled_tasks(const std::vector<PlacedRole>& roles) {
  std::uint32_t tasks = 0;
  for (const PlacedRole& role : roles)
    tasks += !is_compute(role) || role.spec->nodes ? 0 : role.size;
  return tasks;
}

Result<std::vector<Counts>> counts_of_roles(const std::vector<PlacedRole>& roles, Placing placing,
                                            Counts pool, const Counts& gpus) {
  std::vector<Counts> all;
  for (const PlacedRole& role : roles) {
    if (role.name == "evaluator" && !role.spec->nodes) {
      all.push_back(counts_of_evaluator(roles, all, placing, gpus));
      continue;
    }
    if (placing == Placing::spread && role.name == "ps" && !role.spec->nodes) {
      all.push_back(spread_beside(all, gpus.size(), role.size));
      continue;
    }
    auto counts = counts_of_role(role, gpus.size(), pool);
    if (!counts) return tl::unexpected(counts.error());
    all.push_back(std::move(*counts));
  }
  return all;
}

}  // namespace dlaunch
