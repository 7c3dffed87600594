#include "model/job_spec.h"

#include "text/strings.h"

namespace dlaunch {

std::string_view name_of(Framework framework) {
  switch (framework) {
    case Framework::pytorch:
      return "pytorch";
    case Framework::tensorflow:
      return "tensorflow";
    case Framework::mpi:
      return "mpi";
    case Framework::horovod:
      return "horovod";
    case Framework::deepspeed:
      return "deepspeed";
    case Framework::jax:
      return "jax";
    case Framework::gcp:
      return "gcp";
    case Framework::none:
      return "none";
  }
  return "";
}

bool uses_mpi(Framework framework) {
  return framework == Framework::mpi || framework == Framework::horovod;
}

bool is_torch(Framework framework) {
  return framework == Framework::pytorch || framework == Framework::deepspeed;
}

bool has_tasks(Framework framework) {
  return framework == Framework::tensorflow || framework == Framework::gcp;
}

std::string_view name_of(Launch launch) {
  switch (launch) {
    case Launch::per_process:
      return "per-process";
    case Launch::per_node:
      return "per-node";
    case Launch::once:
      return "once";
  }
  return "";
}

std::string as_typed(const JobSpec& spec, const std::string& key, const std::string& value) {
  const auto typed = spec.typed.find(key);
  return typed != spec.typed.end() ? typed->second : '"' + key + ": " + value + '"';
}

bool is_watched(const JobSpec& spec) {
  return spec.watch.after || spec.timeouts.hang;
}

bool is_workdir(const Transfer& item) {
  return item.to.empty() && (item.from == "." || item.from == "./");
}

bool syncs_workdir(const JobSpec& spec) {
  const std::vector<Transfer>& paths = spec.sync.paths;
  return spec.sync.is_on && (paths.empty() || std::any_of(paths.begin(), paths.end(), is_workdir));
}

std::vector<Transfer> staged_items(const JobSpec& spec) {
  std::vector<Transfer> items;
  for (const Transfer& path : spec.sync.paths) {
    if (is_workdir(path)) continue;
    items.push_back(path);
    items.back().exclude = spec.sync.exclude;
  }
  items.insert(items.end(), spec.stage.begin(), spec.stage.end());
  return items;
}

bool has_membership(const JobSpec& spec) {
  return spec.nodes && (spec.spares > 0 || spec.nodes->min < spec.nodes->max);
}

std::size_t hosts_needed(const JobSpec& spec) {
  const int nodes = std::max(spec.nodes ? spec.nodes->min : 1, 1);
  return static_cast<std::size_t>(nodes) + static_cast<std::size_t>(std::max(spec.spares, 0));
}

std::string too_few_hosts(const JobSpec& spec, std::size_t given, const std::string& origin) {
  const int least = std::max(spec.nodes ? spec.nodes->min : 1, 1);
  const bool lacks_spares = given >= static_cast<std::size_t>(least);
  const std::string wanted =
      lacks_spares ? std::to_string(hosts_needed(spec)) : std::to_string(least);
  const bool is_elastic = spec.nodes && spec.nodes->min != spec.nodes->max;
  const std::string has = std::to_string(given);
  const std::string nodes = std::to_string(least);
  std::string asked;
  if (spec.nodes) asked = as_typed(spec, "nodes", is_elastic ? "{min: " + nodes + ", ...}" : nodes);
  if (lacks_spares)
    asked += (asked.empty() ? "" : " and ") + as_typed(spec, "spares", std::to_string(spec.spares));
  const std::string fewer =
      lacks_spares
          ? "or try --set spares=" + std::to_string(given - static_cast<std::size_t>(least))
          : "or run on " + has + " with --nnodes " + has;
  return asked + " but only " + (given == 1 ? "1 host is given" : has + " hosts are given") +
         (origin.empty() ? "" : " (" + origin + ")") + "; name " + wanted + " with --hosts, " +
         fewer;
}

std::string too_few_slots(const std::string& asked, std::size_t hosts, std::size_t slots,
                          const std::string& origin) {
  return asked + " but the " + (hosts == 1 ? "host has" : "hosts have") + " only " +
         counted(slots, "slot") + (origin.empty() ? "" : " (" + origin + ")");
}

std::vector<KeyConflict> launch_conflicts(const JobSpec& spec) {
  if (spec.launch == Launch::per_process) return {};
  std::vector<KeyConflict> conflicts;
  const bool is_once = spec.launch == Launch::once;
  if (!spec.roles.empty()) {
    conflicts.push_back(
        {"roles", "launch",
         std::string("roles give numbers of processes, but launch: ") +
             (is_once ? "once starts a single one" : "per-node starts one per node")});
  } else if (is_once && has_tasks(spec.framework)) {
    conflicts.push_back({"launch", "framework",
                         "launch: once starts a single process, which cannot form a cluster; use "
                         "framework: none"});
  }
  if (uses_mpi(spec.framework)) {
    conflicts.push_back({"launch", "framework",
                         "with framework: " + std::string(name_of(spec.framework)) +
                             " dlaunch starts every rank itself; for a program that starts ranks "
                             "of its own, such as mpirun, use framework: none"});
  }
  if (spec.binding.gpus == Binding::Gpus::one_per_process) {
    conflicts.push_back({"launch", "binding.gpus",
                         "the single process of launch: " + std::string(name_of(spec.launch)) +
                             " starts its own workers, which need all GPUs"});
  }
  return conflicts;
}

}  // namespace dlaunch
