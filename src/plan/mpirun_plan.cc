#include "plan/mpirun_plan.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "model/ip_address.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// Offline plans assume Open MPI 4, the most common one.
Result<MpirunKind> kind_on(const JobSpec& spec, const Cluster& cluster, LaunchPlan& plan) {
  const Node& node = cluster.nodes.front();
  if (cluster.is_assumed) {
    plan.notes.emplace_back("offline: the command is that for mpirun of Open MPI 4");
    return MpirunKind::open_mpi_4;
  }
  if (node.facts.mpirun.empty()) {
    const std::string wanted = spec.mpi.program.empty() ? "mpirun" : '"' + spec.mpi.program + '"';
    return fail(exit_code::kNodeLost,
                "there is no " + wanted + " on " + node.name +
                    "\n         try: install Open MPI (openmpi-bin in Debian) or MPICH there, "
                    "load its module, or leave out mpi.launcher: dlaunch starts MPI programs "
                    "itself");
  }
  if (const auto kind = mpirun_kind(node.facts.mpirun_version)) return *kind;
  return fail(exit_code::kJobFile,
              node.facts.mpirun + " on " + node.name +
                  " is neither Open MPI 4 or 5 nor Hydra (MPICH, Intel MPI); it calls itself: " +
                  first_line(node.facts.mpirun_version) +
                  "\n         try: --set mpi.program=PATH of another one");
}

/// The same path on all nodes: in a folder of the user alone, whose name contains the user id. If
/// user ids differ between nodes, in /tmp itself.
std::string join_folder(const Cluster& cluster, const PlanContext& context) {
  const std::uint32_t user = cluster.nodes.front().facts.user_id;
  const bool is_same = std::all_of(cluster.nodes.begin(), cluster.nodes.end(),
                                   [&](const Node& node) { return node.facts.user_id == user; });
  return "/tmp/dlaunch-" + (is_same ? std::to_string(user) + "/join-" : std::string("join-")) +
         (context.run_id.empty() ? "<run id>" : context.run_id) + '-' +
         std::to_string(context.attempt.value);
}

/// mpirun on a single node does not need its network name.
std::vector<HostSlots> hosts_of(const LaunchPlan& plan) {
  std::vector<HostSlots> hosts;
  for (const NodePlan& node : plan.nodes) {
    if (node.ranks.empty()) continue;
    hosts.push_back({node.name, static_cast<std::uint32_t>(node.ranks.size())});
  }
  if (plan.nodes.size() == 1) hosts.front().name = "localhost";
  return hosts;
}

/// Settings of the launchers themselves: Open MPI and PRRTE, Hydra, Intel MPI, and their login.
bool concerns_mpirun(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"OMPI_",    "PRTE_", "PMIX_", "HYDRA_",
                                            "MPIEXEC_", "MPIR_", "I_MPI_"};
  return name == "PATH" || name == "LD_LIBRARY_PATH" || name == "OPAL_PREFIX" ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Hydra sends its whole environment to its daemons over its own connections.
void keep_secrets_from_mpirun(LaunchPlan& plan) {
  for (const Variable& variable : plan.variables) {
    if (variable.source == VariableSource::env_secret) plan.scrubbed.push_back(variable.name);
  }
}

/// Excludes the ranks' variables, which come from their agents: no value passes through mpirun.
Environment environment_for(const LaunchPlan& plan, Environment own) {
  for (const Variable& variable : plan.variables) {
    const bool is_given =
        variable.source == VariableSource::job_env || variable.source == VariableSource::env_pass;
    if (is_given && concerns_mpirun(variable.name)) own.emplace(variable.name, variable.value);
  }
  return own;
}

/// Settings that stay: those in the environment of mpirun, and in files of any node, which mpirun's
/// command line would override.
Environment known_settings(const Cluster& cluster, const PlanContext& context,
                           const LaunchPlan& plan) {
  const Node& first = cluster.nodes.front();
  Environment known =
      environment_for(plan, first.is_launcher ? context.launcher_env : first.facts.environment);
  for (const Node& node : cluster.nodes)
    known.insert(node.facts.mca_settings.begin(), node.facts.mca_settings.end());
  return known;
}

}  // namespace

std::vector<std::string> mpirun_programs(const JobSpec& spec) {
  if (spec.mpi.launcher != Mpi::Launcher::mpirun) return {};
  if (!spec.mpi.program.empty()) return {spec.mpi.program};
  return {"mpirun", "mpiexec", "mpiexec.hydra"};
}

std::string_view name_of(MpirunKind kind) {
  switch (kind) {
    case MpirunKind::open_mpi_4:
      return "Open MPI 4";
    case MpirunKind::open_mpi_5:
      return "Open MPI 5";
    case MpirunKind::hydra:
      return "Hydra";
  }
  return "";
}

std::string network_of(const LaunchPlan& plan, const Cluster& cluster) {
  const auto master = parse_ip(plan.master.address);
  if (!master) return "";
  for (const NetworkInterface& interface : cluster.nodes.front().facts.interfaces) {
    for (const InterfaceAddress& address : interface.addresses) {
      const auto own = parse_ip(address.text);
      if (own && *own == *master) return address.text + '/' + std::to_string(address.prefix);
    }
  }
  return "";
}

std::uint32_t fewest_cores(const Cluster& cluster) {
  std::size_t least = cluster.nodes.front().facts.cores.size();
  for (const Node& node : cluster.nodes) least = std::min(least, node.facts.cores.size());
  return static_cast<std::uint32_t>(least);
}

Status add_mpirun(const JobSpec& spec, const Cluster& cluster, const PlanContext& context,
                  LaunchPlan& plan) {
  if (spec.mpi.launcher != Mpi::Launcher::mpirun) return {};
  using Via = Connect::Via;
  const std::string& via = spec.connect.via;
  const bool has_ssh = via == Via::automatic || via == Via::ssh || via == Via::slurm;
  if (!has_ssh && plan.nodes.size() > 1) {
    return fail(exit_code::kJobFile, "mpirun reaches several hosts by ssh: connect.via: " + via +
                                         " is not possible with mpi.launcher: mpirun");
  }
  const auto kind = kind_on(spec, cluster, plan);
  if (!kind) return tl::unexpected(kind.error());
  MpirunPlan mpirun;
  mpirun.name = name_of(*kind);
  mpirun.join_folder = join_folder(cluster, context);
  const NodeFacts& facts = cluster.nodes.front().facts;
  MpirunInput input;
  input.kind = *kind;
  input.program = facts.mpirun.empty() ? mpirun_programs(spec).front() : facts.mpirun;
  input.hostfile = plan.nodes.front().output_folder + "/mpirun.hosts";
  input.hosts = hosts_of(plan);
  input.workdir = plan.workdir;
  input.is_root = true;  // the user is unknown here; for others the option has no effect
  input.cpus = spec.binding.cpus;
  input.cores = fewest_cores(cluster);
  input.connect = spec.connect;
  input.host_specs = spec.hosts.hosts;
  input.network = network_of(plan, cluster);
  if (plan.nodes.size() > 1) input.address = plan.nodes.front().address;
  input.environment = known_settings(cluster, context, plan);
  input.temporary = mpirun.join_folder;
  input.command = {mpirun.join_folder + "/dlaunch", "exec", "--join", mpirun.join_folder};
  auto command = mpirun_command(input);
  if (!command) return tl::unexpected(command.error());
  mpirun.argv = std::move(command->argv);
  mpirun.environment = environment_for(plan, std::move(command->environment));
  plan.nodes.front().files.push_back(
      {input.hostfile, hostfile_text(hostfile_dialect(*kind), input.hosts)});
  keep_secrets_from_mpirun(plan);
  plan.mpirun = std::move(mpirun);
  return {};
}

}  // namespace dlaunch
