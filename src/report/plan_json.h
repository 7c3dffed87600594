// A plan for programs: `dlaunch plan --json`, and plan.json in the folder of a run.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/ids.h"
#include "model/launch_plan.h"

namespace dlaunch {

/// One JSON object, a line for each node and each rank, ending with a newline:
///   format (1), name, run_id, attempt, framework, launch, workdir, master {address, port, reason},
///   commands [{argv, shell}], nodes [{node, name, address, ranks, binding, variables, files
///   [{path, text}]}], with launch: once also hosts [{name, slots}], ranks
///   [{rank, node, local_rank, role, role_rank, command, cpus, gpus, ports, variables}], variables
///   {NAME: VALUE} of all ranks (those of a node and of a rank are added to these), passed [NAME]
///   (env_pass) and secret [NAME] (env_secret), whose values are left out, reasons {NAME: why},
///   scrubbed, not_passed, notes.
/// With a cluster, each node also has facts {hostname, architecture, kernel, memory_bytes,
/// memory_available_bytes, cores [{numa, threads, taken}], gpus [{index, uuid, bus_id, model,
/// numa}], cuda_visible_devices, interfaces [{name, is_up, speed_mbit, mtu, addresses}], limits
/// {open_files, processes, locked_memory}}, null if a value is not known or not limited; facts
/// null: the node was not asked.
[[nodiscard]] std::string plan_json(const LaunchPlan&, const Cluster* cluster = nullptr);

/// `dlaunch plan --env RANK --json`: format (1), rank, node (its name), variables [{name, value,
/// reason}] in the order of plan_env_text (value null: a secret), and scrubbed, as in the plan.
/// `rank` must be one of the plan's.
[[nodiscard]] std::string plan_env_json(const LaunchPlan&, Rank rank);

}  // namespace dlaunch
