#include "plan/mpirun.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "model/ip_address.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::string_view kOrteTmpdir = "OMPI_MCA_orte_tmpdir_base";
constexpr std::string_view kPrteTmpdir = "PRTE_MCA_prte_tmpdir_base";

using Words = std::vector<std::string>;

tl::unexpected<Error> refuse(std::string message) {
  return fail(exit_code::kJobFile, "mpi.launcher: mpirun: " + std::move(message));
}

bool is_open_mpi(MpirunKind kind) {
  return kind != MpirunKind::hydra;
}

void add(Words& words, Words more) {
  for (std::string& word : more) words.push_back(std::move(word));
}

std::uint32_t total(const std::vector<HostSlots>& hosts) {
  std::uint32_t sum = 0;
  for (const HostSlots& host : hosts) sum += host.slots;
  return sum;
}

bool are_even(const std::vector<HostSlots>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [&](const HostSlots& host) { return host.slots == hosts.front().slots; });
}

/// The number of cores for each rank; 0: ranks are not bound.
std::uint32_t cores_per_rank(const MpirunInput& input) {
  if (input.cpus == Binding::Cpus::none || !are_even(input.hosts)) return 0;
  return input.cores / std::max(input.hosts.front().slots, 1U);
}

Words placement(const MpirunInput& input) {
  const std::uint32_t cores = cores_per_rank(input);
  const std::string per_rank = std::to_string(cores);
  if (!is_open_mpi(input.kind)) return {"-bind-to", cores == 0 ? "none" : "core:" + per_rank};
  if (!are_even(input.hosts)) return {"--map-by", "slot", "--bind-to", "none"};
  const std::string map = "ppr:" + std::to_string(input.hosts.front().slots) + ":node";
  if (cores == 0) return {"--map-by", map, "--bind-to", "none"};
  return {"--map-by", map + ":PE=" + per_rank, "--bind-to", "core"};
}

/// The common value of all hosts; nullopt: they differ.
template <class Member>
std::optional<Member> common(const std::vector<HostSpec>& hosts, Member HostSpec::*member) {
  if (hosts.empty()) return Member{};
  const Member& first = hosts.front().*member;
  const bool same = std::all_of(hosts.begin(), hosts.end(),
                                [&](const HostSpec& host) { return host.*member == first; });
  return same ? std::optional(first) : std::nullopt;
}

struct Ssh {
  std::string program;
  std::string arguments;  // separated by blanks
};

Result<Ssh> ssh_of(const MpirunInput& input) {
  const Connect& connect = input.connect;
  if (!connect.command.empty() && connect.via != Connect::Via::ssh)
    return refuse("it reaches nodes by ssh alone, so connect.command cannot be used");
  const auto user = common(input.host_specs, &HostSpec::user);
  const auto port = common(input.host_specs, &HostSpec::port);
  if (!user || !port) {
    return refuse(
        "users or ports of hosts differ, but mpirun uses one for all; set them in ~/.ssh/config");
  }
  Words words;
  const std::string& login = user->empty() ? connect.user : *user;
  const std::uint16_t number = *port == 0 ? connect.port : *port;
  if (!login.empty()) add(words, {"-l", login});
  if (number != 0) add(words, {"-p", std::to_string(number)});
  if (!connect.identity_file.empty()) add(words, {"-i", connect.identity_file});
  Ssh ssh{connect.ssh, ""};
  if (const auto blank = ssh.program.find(' '); blank != std::string::npos) {
    words.insert(words.begin(), ssh.program.substr(blank + 1));
    ssh.program.erase(blank);
  }
  for (const std::string& word : words) {
    if (word == connect.identity_file && word.find(' ') != std::string::npos)
      return refuse("connect.identity_file contains a space, which mpirun cannot pass to ssh");
    ssh.arguments += (ssh.arguments.empty() ? "" : " ") + word;
  }
  return ssh;
}

void add_ssh(const MpirunInput& input, const Ssh& ssh, MpirunCommand& command) {
  const bool is_usual = ssh.program == "ssh";
  if (input.kind == MpirunKind::hydra) {
    add(command.argv, {"-launcher", "ssh"});
    if (!is_usual) add(command.argv, {"-launcher-exec", ssh.program});
    if (!ssh.arguments.empty()) command.environment["HYDRA_LAUNCHER_EXTRA_ARGS"] = ssh.arguments;
    return;
  }
  // Open MPI 4 calls the component rsh, PRRTE calls it ssh.
  const bool is_4 = input.kind == MpirunKind::open_mpi_4;
  const char* option = is_4 ? "--mca" : "--prtemca";
  const std::string name = is_4 ? "plm_rsh" : "plm_ssh";
  if (!is_usual) add(command.argv, {option, name + "_agent", ssh.program});
  if (!ssh.arguments.empty()) add(command.argv, {option, name + "_args", ssh.arguments});
}

/// Limits TCP between ranks to the network of the meeting: otherwise Open MPI tries every address
/// of every node, including those of local bridges.
void add_network(const MpirunInput& input, Words& argv) {
  if (!is_open_mpi(input.kind) || input.network.empty() || input.hosts.size() < 2) return;
  for (const char* own : {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"}) {
    if (input.environment.contains(own)) return;
  }
  add(argv, {"--mca", "btl_tcp_if_include", input.network});
}

/// Puts mpirun's files into a folder that is always deleted, even after mpirun was killed.
void add_temporary(const MpirunInput& input, Words& argv) {
  if (!is_open_mpi(input.kind) || input.temporary.empty()) return;
  const bool is_4 = input.kind == MpirunKind::open_mpi_4;
  if (input.environment.contains(is_4 ? kOrteTmpdir : kPrteTmpdir)) return;
  add(argv, {is_4 ? "--mca" : "--prtemca", is_4 ? "orte_tmpdir_base" : "prte_tmpdir_base",
             input.temporary});
}

/// Offline plans assume Open MPI 4, the most common one.
Result<MpirunKind> kind_on(const JobSpec& spec, const Cluster& cluster, LaunchPlan& plan) {
  const Node& node = cluster.nodes.front();
  if (cluster.is_assumed) {
    plan.notes.emplace_back("offline: the plan shows the command for mpirun of Open MPI 4");
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
                  "\n         try: --set mpi.program=PATH, with the path of another mpirun");
}

/// The path must be the same on all nodes. It is in a folder of this user only, whose name contains
/// the user id; or in /tmp itself if the nodes have different user ids.
std::string join_folder(const Cluster& cluster, const PlanContext& context) {
  const std::uint32_t user = cluster.nodes.front().facts.user_id;
  const bool is_same = std::all_of(cluster.nodes.begin(), cluster.nodes.end(),
                                   [&](const Node& node) { return node.facts.user_id == user; });
  return "/tmp/dlaunch-" + (is_same ? std::to_string(user) + "/join-" : std::string("join-")) +
         (context.run_id.empty() ? "<run id>" : context.run_id) + '-' +
         std::to_string(context.attempt.value);
}

/// The hosts with ranks. On a single node, mpirun does not need the node's network name.
std::vector<HostSlots> hosts_of(const LaunchPlan& plan) {
  std::vector<HostSlots> hosts;
  for (const NodePlan& node : plan.nodes) {
    if (node.ranks.empty()) continue;
    hosts.push_back({node.name, static_cast<std::uint32_t>(node.ranks.size())});
  }
  if (plan.nodes.size() == 1) hosts.front().name = "localhost";
  return hosts;
}

/// Whether the variable sets up the launcher itself: Open MPI and PRRTE, Hydra, Intel MPI, and
/// where they find their programs.
bool concerns_mpirun(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"OMPI_",    "PRTE_", "PMIX_", "HYDRA_",
                                            "MPIEXEC_", "MPIR_", "I_MPI_"};
  return name == "PATH" || name == "LD_LIBRARY_PATH" || name == "OPAL_PREFIX" ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Removes secrets from the environment of mpirun, because Hydra sends its whole environment to its
/// daemons over its own connections.
void keep_secrets_from_mpirun(LaunchPlan& plan) {
  for (const Variable& variable : plan.variables) {
    if (variable.source == VariableSource::env_secret) plan.scrubbed.push_back(variable.name);
  }
}

/// The environment of mpirun: `own` and the user's settings for mpirun. Excludes other variables of
/// the ranks, which get them from their agents.
Environment environment_for(const LaunchPlan& plan, Environment own) {
  for (const Variable& variable : plan.variables) {
    const bool is_given =
        variable.source == VariableSource::job_env || variable.source == VariableSource::env_pass;
    if (is_given && concerns_mpirun(variable.name)) own.emplace(variable.name, variable.value);
  }
  return own;
}

/// The user's settings in the environment of mpirun and in files of any node. mpirun's command line
/// would override them, so it must not repeat them.
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

std::string_view hostfile_name(HostfileDialect dialect) {
  return dialect == HostfileDialect::hydra ? "hostfile.hydra" : "hostfile";
}

std::string hostfile_text(HostfileDialect dialect, const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const HostSlots& host : hosts) {
    text += host.name;
    text += dialect == HostfileDialect::hydra ? ":" : " slots=";
    text += std::to_string(host.slots);
    text += '\n';
  }
  return text;
}

std::optional<MpirunKind> mpirun_kind(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("(Open MPI) 5.") || has("(PRRTE)")) return MpirunKind::open_mpi_5;
  if (has("(Open MPI) 4.") || has("(OpenRTE) 4.")) return MpirunKind::open_mpi_4;
  if (has("HYDRA build details") || has("Intel(R) MPI")) return MpirunKind::hydra;
  return std::nullopt;
}

HostfileDialect hostfile_dialect(MpirunKind kind) {
  return is_open_mpi(kind) ? HostfileDialect::slots : HostfileDialect::hydra;
}

Result<MpirunCommand> mpirun_command(const MpirunInput& input) {
  const auto ssh = ssh_of(input);
  if (!ssh) return tl::unexpected(ssh.error());
  MpirunCommand command;
  Words& argv = command.argv;
  argv = {input.program};
  const bool open_mpi = is_open_mpi(input.kind);
  add(argv, {open_mpi ? "--hostfile" : "-f", input.hostfile});
  add(argv, {open_mpi ? "-np" : "-n", std::to_string(total(input.hosts))});
  add(argv, placement(input));
  if (open_mpi && input.is_root) argv.emplace_back("--allow-run-as-root");
  if (!input.workdir.empty()) add(argv, {open_mpi ? "--wdir" : "-wdir", input.workdir});
  if (input.hosts.size() > 1) add_ssh(input, *ssh, command);
  if (!open_mpi && !input.address.empty()) add(argv, {"-localhost", input.address});
  add_network(input, argv);
  add_temporary(input, argv);
  // Hydra needs no option, because it passes its whole environment.
  for (const std::string& name : open_mpi ? input.pass : Words()) add(argv, {"-x", name});
  add(argv, input.command);
  return command;
}

std::vector<std::string> mpirun_programs(const JobSpec& spec) {
  if (spec.mpi.launcher != Mpi::Launcher::mpirun) return {};
  if (!spec.mpi.program.empty()) return {spec.mpi.program};
  return {"mpirun", "mpiexec", "mpiexec.hydra"};
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
    return fail(exit_code::kJobFile, "connect.via: " + via +
                                         " is not possible with mpi.launcher: mpirun, which "
                                         "reaches several hosts by ssh");
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
  input.is_root = true;  // unknown when planning; for other users the option has no effect
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
