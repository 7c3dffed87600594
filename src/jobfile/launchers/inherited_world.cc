#include "jobfile/launchers/inherited_world.h"

#include <algorithm>
#include <map>
#include <utility>

#include "jobfile/hostlist.h"
#include "jobfile/launchers/claims.h"
#include "jobfile/launchers/master_port.h"
#include "jobfile/launchers/node_list.h"
#include "jobfile/slurm_allocation.h"
#include "text/strings.h"

namespace dlaunch::launchers {

namespace {

tl::unexpected<Error> wrong(std::string message) {
  return fail(exit_code::kPreflight, std::move(message));
}

std::string text_of(const Environment& env, std::string_view name) {
  return find_variable(env, name).value_or("");
}

World world_of(const Claim& claim) {
  World world;
  world.launcher = name_of(claim.launcher);
  world.rank = claim.rank;
  world.size = claim.size;
  return world;
}

/// Sets the master of a world with known nodes from its hosts.
void take_master(const std::string& origin, World& world) {
  if (world.nodes == 1) {
    world.master = "127.0.0.1";
    world.master_reason = "the only node";
  } else if (!world.hosts.empty()) {
    world.master = world.hosts.front().name;
    world.master_reason = "first host of " + origin;
  }
}

// ---- mpirun and similar launchers

/// The id of one mpirun: its own id if it has one, otherwise the id of the scheduler's job.
std::string job_id_of(const Claim& claim, const Environment& env) {
  if (claim.launcher == Launcher::open_mpi) {
    const std::string id = text_of(env, "OMPI_MCA_ess_base_jobid");  // Open MPI 4
    if (!id.empty()) return "mpirun-" + id;
    const std::string space = text_of(env, "PMIX_NAMESPACE");  // Open MPI 5
    if (!space.empty()) return space;
  }
  constexpr std::pair<const char*, const char*> kJobs[] = {{"SLURM_JOB_ID", "slurm-"},
                                                           {"PBS_JOBID", "pbs-"},
                                                           {"LSB_JOBID", "lsf-"},
                                                           {"AZ_BATCH_TASK_ID", "batch-"},
                                                           {"JOB_ID", "sge-"}};
  for (const auto& [name, prefix] : kJobs) {
    const std::string id = text_of(env, name);
    if (!id.empty()) return prefix + id;
  }
  return "";
}

Result<World> world_of_mpi(const Claim& claim, const WorldInput& input) {
  World world = world_of(claim);
  if (!claim.local_rank || !claim.local_size) {
    if (world.size > 1) {
      return wrong(world.launcher + " does not tell this process its local rank and local size" +
                   (claim.launcher == Launcher::hydra
                        ? " (MPI_LOCALRANKID, MPI_LOCALNRANKS)\n         try: a newer mpiexec, or "
                          "srun dlaunch exec under Slurm"
                        : ""));
    }
  } else {
    world.local_rank = *claim.local_rank;
    world.local_size = *claim.local_size;
  }
  auto list = own_nodes(input.environment);
  const bool is_ours = list && *list;
  if (list && !is_ours && world.local_size != world.size && input.master_address.empty())
    list = scheduler_nodes(claim.launcher, input);
  if (!list) return tl::unexpected(list.error());
  const auto is_own = [&](std::string_view name) {
    return is_ours || is_own_host(name, input.hostname, input.addresses);
  };
  if (const Status s = find_node(*list, is_own, world); !s) return tl::unexpected(s.error());
  take_master(*list ? (*list)->origin : "", world);
  world.job_id = job_id_of(claim, input.environment);
  return world;
}

// ---- srun

bool is_in_step(const Environment& env) {
  return find_variable(env, "SLURM_PROCID") && find_variable(env, "SLURM_STEP_NUM_TASKS");
}

Result<Claim> claim_of_srun(const Environment& env) {
  const auto rank = needed_number(env, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
  const auto size = needed_number(env, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID");
  const auto local = needed_number(env, "SLURM_LOCALID", "SLURM_PROCID");
  if (!rank) return tl::unexpected(rank.error());
  if (!size) return tl::unexpected(size.error());
  if (!local) return tl::unexpected(local.error());
  if (*rank >= *size) {
    return wrong("SLURM_PROCID is " + std::to_string(*rank) + ", but SLURM_STEP_NUM_TASKS is " +
                 std::to_string(*size));
  }
  return Claim{Launcher::srun, *rank, *size, *local, std::nullopt};
}

/// Names of the step's nodes with their numbers of tasks.
Result<std::vector<WorldHost>> hosts_of_step(const Environment& env, std::uint32_t size) {
  const std::string tasks = text_of(env, "SLURM_STEP_TASKS_PER_NODE");
  const auto counts = jobfile::read_repeated_counts(tasks, jobfile::kMostHosts);
  if (!counts) {
    return wrong("SLURM_STEP_TASKS_PER_NODE should look like \"2(x3),1\", but is \"" + tasks + '"');
  }
  const auto entries =
      jobfile::expand_hostlist(text_of(env, "SLURM_STEP_NODELIST"), "SLURM_STEP_NODELIST");
  if (!entries) return wrong(entries.error().message);
  if (entries->size() != counts->size()) {
    return wrong("SLURM_STEP_NODELIST names " + counted(entries->size(), "node") +
                 ", but SLURM_STEP_TASKS_PER_NODE (" + tasks + ") is for " +
                 std::to_string(counts->size()));
  }
  std::vector<WorldHost> hosts;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts->size(); ++i) {
    const auto tasks_here = static_cast<std::uint32_t>((*counts)[i]);
    hosts.push_back({(*entries)[i].name, tasks_here});
    sum += tasks_here;
  }
  if (sum != size) {
    return wrong("SLURM_STEP_TASKS_PER_NODE (" + tasks + ") adds up to " + std::to_string(sum) +
                 " tasks, but SLURM_STEP_NUM_TASKS is " + std::to_string(size));
  }
  return hosts;
}

/// Whether the numbers of a node's tasks directly follow the `before` tasks of earlier nodes. The
/// first task alone does not show it: with --distribution=cyclic it may have the same number.
bool count_up(const std::string& global_ids, std::uint32_t before, std::uint32_t count) {
  std::string in_order;
  for (std::uint32_t i = 0; i < count; ++i)
    in_order += (i == 0 ? "" : ",") + std::to_string(before + i);
  return global_ids.empty() || global_ids == in_order;
}

/// Reads from Slurm's variables the task's node, the task's number on that node, and whether tasks
/// are numbered node by node.
Status place_task(const Claim& claim, const Environment& env, World& world) {
  const auto node = needed_number(env, "SLURM_NODEID", "SLURM_PROCID");
  if (!node) return tl::unexpected(node.error());
  world.nodes = static_cast<std::uint32_t>(world.hosts.size());
  if (*node >= world.nodes) {
    return wrong("SLURM_NODEID is " + std::to_string(*node) + ", but SLURM_STEP_NODELIST has " +
                 counted(world.nodes, "node"));
  }
  world.node = *node;
  world.local_rank = *claim.local_rank;
  world.local_size = world.hosts[*node].ranks;
  if (world.local_rank >= world.local_size) {
    return wrong("SLURM_LOCALID is " + std::to_string(world.local_rank) + ", but " +
                 world.hosts[*node].name + " has " + counted(world.local_size, "task") +
                 " (SLURM_STEP_TASKS_PER_NODE)");
  }
  const std::string own = text_of(env, "SLURMD_NODENAME");
  if (!own.empty() && own != world.hosts[*node].name) {
    return wrong("SLURMD_NODENAME is " + own + ", but node " + std::to_string(*node) +
                 " of SLURM_STEP_NODELIST is " + world.hosts[*node].name);
  }
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < *node; ++i) before += world.hosts[i].ranks;
  world.in_order = world.rank == before + world.local_rank &&
                   count_up(text_of(env, "SLURM_GTIDS"), before, world.local_size);
  if (world.rank == 0 && world.node != 0) {
    return wrong("rank 0 is on " + world.hosts[*node].name +
                 ", which is not the first node of SLURM_STEP_NODELIST\n         try: srun without "
                 "--distribution=arbitrary");
  }
  return {};
}

Result<World> world_of_srun(const Claim& claim, const Environment& env) {
  World world = world_of(claim);
  auto hosts = hosts_of_step(env, claim.size);
  if (!hosts) return tl::unexpected(hosts.error());
  world.hosts = std::move(*hosts);
  if (const Status s = place_task(claim, env, world); !s) return tl::unexpected(s.error());
  take_master("SLURM_STEP_NODELIST", world);
  const std::string job = text_of(env, "SLURM_JOB_ID");
  const std::string step = text_of(env, "SLURM_STEP_ID");
  if (!job.empty()) world.job_id = "slurm-" + job + (step.empty() ? "" : "." + step);
  const auto restarts = number_variable(env, "SLURM_RESTART_COUNT");
  if (!restarts) return tl::unexpected(restarts.error());
  world.restarts = restarts->value_or(0);
  const auto cores = number_variable(env, "SLURM_CPUS_PER_TASK");
  if (cores && *cores && **cores > 0) world.threads = **cores;
  return world;
}

// ---- pbsdsh

/// Refuses the job's script itself, which is task 1 of the first node (OpenPBS and Torque number
/// the tasks of each node from 1).
Status check_is_no_script(const Environment& env, std::uint32_t node) {
  if (node != 0 || text_of(env, "PBS_TASKNUM") != "1") return {};
  return wrong(
      "the script of a PBS job is a single process, not one per rank\n         try: mpirun dlaunch "
      "exec -- COMMAND, or pbsdsh -- dlaunch exec -- COMMAND");
}

/// The line of PBS_NODEFILE that describes this process.
Result<std::uint32_t> line_of_pbs(const Environment& env, const std::vector<std::string>& lines,
                                  std::size_t nodes) {
  const auto line = number_variable(env, "PBS_VNODENUM");  // Torque
  if (!line) return tl::unexpected(line.error());
  const auto node = needed_number(env, "PBS_NODENUM", "PBS_NODEFILE");
  if (!node) return tl::unexpected(node.error());
  if (const Status s = check_is_no_script(env, *node); !s) return tl::unexpected(s.error());
  const std::uint32_t mine = *line ? **line : *node;
  if (!*line && nodes != lines.size()) {
    return wrong(
        "PBS tells a process its node, but not which of the node's processes it is, and "
        "PBS_NODEFILE has several lines per node\n         try: mpirun dlaunch exec, or one "
        "process per node (-l select=N:mpiprocs=1)");
  }
  if (mine < lines.size()) return mine;
  return wrong(std::string(*line ? "PBS_VNODENUM" : "PBS_NODENUM") + " is " + std::to_string(mine) +
               ", but PBS_NODEFILE has " + std::to_string(lines.size()) + " lines");
}

Result<World> world_of_pbs(const WorldInput& input) {
  const Environment& env = input.environment;
  const std::string path = text_of(env, "PBS_NODEFILE");
  const auto text = input.read_file(path);
  if (!text) {
    return wrong(
        "PBS_NODEFILE: " + text.error().message +
        "\n         only the first node has this file; try: mpirun dlaunch exec -- COMMAND");
  }
  const std::vector<std::string> lines = lines_of(*text);
  World world;
  world.launcher = name_of(Launcher::pbs);
  std::map<std::string, std::uint32_t> node_of;
  for (const std::string& line : lines) {
    const auto [at, is_new] = node_of.emplace(line, static_cast<std::uint32_t>(world.hosts.size()));
    if (is_new) world.hosts.push_back({line, 0});
    ++world.hosts[at->second].ranks;
  }
  const auto mine = line_of_pbs(env, lines, world.hosts.size());
  if (!mine) return tl::unexpected(mine.error());
  world.rank = *mine;
  world.size = static_cast<std::uint32_t>(lines.size());
  world.node = node_of.at(lines[*mine]);
  world.nodes = static_cast<std::uint32_t>(world.hosts.size());
  world.local_size = world.hosts[world.node].ranks;
  world.local_rank =
      static_cast<std::uint32_t>(std::count(lines.begin(), lines.begin() + *mine, lines[*mine]));
  world.in_order = std::is_sorted(lines.begin(), lines.end(), [&](const auto& a, const auto& b) {
    return node_of.at(a) < node_of.at(b);
  });
  if (input.master_address.empty() && !is_own_host(lines[*mine], input.hostname, input.addresses)) {
    return wrong("line " + std::to_string(*mine + 1) + " of PBS_NODEFILE is " + lines[*mine] +
                 ", but this machine is " + input.hostname);
  }
  take_master("PBS_NODEFILE", world);
  world.job_id = "pbs-" + text_of(env, "PBS_JOBID");
  return world;
}

// ---- Kubernetes

/// The pod's full host name from /etc/hosts, where the kubelet writes it if the pod has a
/// subdomain: "10.0.0.7  job-3.svc.default.svc.cluster.local  job-3".
std::string full_name(const WorldInput& input) {
  const auto text = input.read_file("/etc/hosts");
  if (!text) return "";
  for (const std::string& line : lines_of(*text)) {
    std::size_t at = 0;
    while ((at = line.find_first_not_of(" \t", at)) != std::string::npos) {
      const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
      const std::string word = line.substr(at, end - at);
      if (word.starts_with(input.hostname + '.')) return word;
      at = end;
    }
  }
  return "";
}

Result<World> world_of_kubernetes(std::uint32_t index, const WorldInput& input) {
  World world;
  world.launcher = name_of(Launcher::kubernetes);
  if (!input.processes) {
    return wrong(
        "Kubernetes tells a pod its index (JOB_COMPLETION_INDEX), but not how many pods there are\n"
        "         try: dlaunch exec -n N, where N is the job's completions");
  }
  if (index >= *input.processes) {
    return wrong("JOB_COMPLETION_INDEX is " + std::to_string(index) + ", but -n says " +
                 std::to_string(*input.processes));
  }
  world.rank = world.node = index;
  world.size = world.nodes = *input.processes;
  world.in_order = true;
  // The hostname of a pod is JOB-INDEX, truncated to 63 characters.
  const std::string end = "-" + std::to_string(index);
  const bool is_named = input.hostname.ends_with(end) && input.hostname.size() > end.size();
  const std::string job =
      is_named ? input.hostname.substr(0, input.hostname.size() - end.size()) : "";
  world.job_id = job.empty() ? "" : "kubernetes-" + job;
  const std::string full = full_name(input);
  if (is_named && !full.empty()) {
    const std::string domain = full.substr(input.hostname.size());
    for (std::uint32_t i = 0; i < world.size; ++i)
      world.hosts.push_back({job + "-" + std::to_string(i) + domain, 1});
  }
  take_master("the pods of the job", world);
  return world;
}

// ---- all

/// At most one launcher similar to mpirun can have started this process.
Status check_agreement(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (claim.rank == claims.front().rank && claim.size == claims.front().size) continue;
    return wrong("this is " + text_of(claims.front()) + " for " +
                 std::string(name_of(claims.front().launcher)) + ", but " + text_of(claim) +
                 " for " + std::string(name_of(claim.launcher)) +
                 "\n         try: unset the variables of the launcher that did not start this "
                 "process");
  }
  return {};
}

tl::unexpected<Error> no_launcher(const Environment& env) {
  if (find_variable(env, "DLAUNCH_RANK")) {
    return wrong("this process is already a rank of dlaunch run, and has its variables");
  }
  if (find_variable(env, "SLURM_JOB_ID")) {
    return wrong(
        "this process is in a Slurm job, but srun did not start it\n         try: srun dlaunch "
        "exec "
        "-- COMMAND");
  }
  if (find_variable(env, "AZ_BATCH_TASK_ID")) {
    return wrong(
        "Azure Batch starts one process, on its master node\n         try: mpirun -host "
        "$AZ_BATCH_HOST_LIST dlaunch exec -- COMMAND");
  }
  if (find_variable(env, "LSB_JOBID")) {
    return wrong(
        "this process is in an LSF job, but neither jsrun nor mpirun started it\n         try: "
        "mpirun dlaunch exec -- COMMAND");
  }
  return wrong(
      "no launcher started this process: none of OMPI_COMM_WORLD_RANK, PMI_RANK, "
      "SLURM_PROCID, JSM_NAMESPACE_RANK, PBS_NODENUM, JOB_COMPLETION_INDEX is set\n"
      "         try: mpirun -np 4 dlaunch exec -- COMMAND; without another launcher: dlaunch run "
      "-n 4 -- COMMAND");
}

Result<World> innermost(const WorldInput& input) {
  const Environment& env = input.environment;
  auto claims = mpi_claims(env);
  if (!claims) return tl::unexpected(claims.error());
  if (const Status s = check_agreement(*claims); !s) return tl::unexpected(s.error());
  if (is_in_step(env)) {
    const auto task = claim_of_srun(env);
    if (!task) return tl::unexpected(task.error());
    // srun --mpi=pmi2 and --mpi=cray_shasta set PMI_RANK, too; both claims then agree.
    const bool is_inner = std::any_of(claims->begin(), claims->end(), [&](const Claim& claim) {
      return claim.launcher != Launcher::hydra || claim.rank != task->rank ||
             claim.size != task->size || claim.local_rank;
    });
    if (!is_inner) return world_of_srun(*task, env);
  }
  if (!claims->empty()) return world_of_mpi(claims->front(), input);
  if (find_variable(env, "PBS_NODEFILE") && find_variable(env, "PBS_JOBID"))
    return world_of_pbs(input);
  const auto index = number_variable(env, "JOB_COMPLETION_INDEX");
  if (!index) return tl::unexpected(index.error());
  if (*index) return world_of_kubernetes(**index, input);
  return no_launcher(env);
}

std::string id_of_command(const WorldInput& input, std::uint32_t size) {
  std::string text = std::to_string(size);
  for (const std::string& word : input.command) text += '\0' + word;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id = "command-";
  std::uint64_t hash = hash_of(text);
  for (int i = 0; i < 8; ++i, hash >>= 4) id += kDigits[hash & 15];
  return id;
}

}  // namespace

Result<World> foreign_world(const WorldInput& input) {
  auto world = innermost(input);
  if (!world) return world;
  if (input.processes && *input.processes != world->size) {
    return fail(exit_code::kUsage,
                "-n " + std::to_string(*input.processes) + ", but " + world->launcher +
                    " started " + counted(world->size, "rank") +
                    "; leave out -n: dlaunch takes the number from the launcher");
  }
  if (!input.master_address.empty()) {
    world->master = input.master_address;
    world->master_reason = "--master-addr";
  } else if (world->master.empty() && input.needs_master) {
    return wrong(
        "the host of rank 0 is unknown: " + world->launcher +
        " does not name its hosts, and no scheduler does\n         try: --master-addr HOST, "
        "the host of rank 0");
  }
  if (world->job_id.empty()) world->job_id = id_of_command(input, world->size);
  return world;
}

}  // namespace dlaunch::launchers
