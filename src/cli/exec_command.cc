#include <array>
#include <cerrno>
#include <memory>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "fabric/node_facts.h"
#include "node/mpi/join_run.h"
#include "os/bounded_file.h"
#include "os/own_machine.h"
#include "os/ports.h"
#include "os/spawn.h"
#include "plan/exec_plan.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  mpirun -np 4 dlaunch exec -- python train.py          torch's variables under mpirun\n"
    "  srun -N2 --ntasks-per-node=4 dlaunch exec -- python train.py\n"
    "  mpirun -np 4 dlaunch exec --framework tensorflow -- python train.py\n"
    "  mpirun -H a:4,b:4 dlaunch exec --master-addr a -- python train.py\n"
    "  srun -n4 dlaunch exec --print                         the variables, with reasons\n"
    "\n"
    "Understands mpirun and mpiexec (Open MPI, MPICH, Intel MPI, MVAPICH), srun, pbsdsh,\n"
    "jsrun and indexed jobs of Kubernetes. The command replaces dlaunch, so the exit code\n"
    "is the command's. 126/127: it cannot be executed/found; 75: the launcher's variables\n"
    "contradict each other.";

constexpr std::size_t kMostFileBytes = std::size_t{8} * 1024 * 1024;
constexpr std::uint32_t kMostPort = 65'535;

Result<Framework> framework_named(const std::string& name) {
  constexpr std::array kAll{Framework::pytorch, Framework::tensorflow, Framework::mpi,
                            Framework::horovod, Framework::deepspeed,  Framework::jax,
                            Framework::gcp,     Framework::none};
  for (const Framework framework : kAll) {
    if (name_of(framework) == name) return framework;
  }
  return fail(exit_code::kUsage,
              "--framework \"" + name + "\" is not one of " +
                  joined(kAll, ", ", [](Framework one) { return name_of(one); }));
}

launchers::PortRange local_ports() {
  const auto text = read_bounded_file("/proc/sys/net/ipv4/ip_local_port_range", "file", 64);
  return launchers::read_port_range(text.value_or(""));
}

/// The port on which this process is about to listen, if any.
std::uint16_t own_port(const LaunchPlan& plan, std::uint32_t rank) {
  switch (plan.framework) {
    case Framework::tensorflow:
      return plan.ranks[rank].ports.front();
    case Framework::none:
    case Framework::mpi:
    case Framework::horovod:
      return 0;
    case Framework::pytorch:
    case Framework::deepspeed:
    case Framework::jax:
    case Framework::gcp:
      return rank == 0 ? plan.master.port : std::uint16_t{0};
  }
  return 0;
}

/// A computed port may be taken by another process; then the ranks would connect to the wrong
/// server.
Status check_port(const LaunchPlan& plan, std::uint32_t rank) {
  const std::uint16_t port = own_port(plan, rank);
  if (port == 0) return {};
  const auto reserved = reserve_port(port);
  if (reserved) return {};
  const std::string& holder = reserved.error().holder;
  return fail(exit_code::kPreflight,
              "rank " + std::to_string(rank) + ": port " + std::to_string(port) + " is taken by " +
                  (holder.empty() ? "another process" : holder) +
                  "\n         try: --master-port PORT, the same for all ranks");
}

struct ExecCommand {
  TrailingArguments command;
  std::string framework = "pytorch";
  std::string master_address;
  std::optional<std::uint32_t> master_port;
  std::optional<std::uint32_t> processes;
  bool torch_variables = false;
  std::string join;
  bool print = false;
  bool json = false;

  int execute() const {
    if (!join.empty()) return print_error(join_run(join, environment_from_block(environ)));
    const auto world = find_world();
    if (!world) return print_error(world.error());
    const auto plan = make_plan(*world);
    if (!plan) return print_error(plan.error());
    const std::uint32_t rank = world->rank;
    if (print || json)
      return print_text(json ? plan_env_json(*plan, Rank(rank))
                             : plan_env_text(*plan, Cluster{}, Rank(rank)));
    if (const Status s = check_port(*plan, rank); !s) return print_error(s.error());
    return become(rank, launchers::rank_environment(*plan, rank, environment_from_block(environ)));
  }

 private:
  /// This process's place among the processes that its launcher started.
  Result<launchers::World> find_world() const {
    if (command.empty() && !print && !json)
      return fail(exit_code::kUsage,
                  "no command given; for example: mpirun -np 4 dlaunch exec -- "
                  "python train.py\n         try: dlaunch exec --help");
    if (master_port && (*master_port == 0 || *master_port > kMostPort))
      return fail(exit_code::kUsage, "--master-port: expected 1 to 65535");
    const auto chosen = framework_named(framework);
    if (!chosen) return tl::unexpected(chosen.error());
    if (torch_variables && !uses_mpi(*chosen))
      return fail(exit_code::kUsage, "--torch-variables is for --framework mpi and horovod; " +
                                         std::string(name_of(*chosen)) +
                                         " has variables of its own");
    launchers::WorldInput input;
    input.needs_master = !uses_mpi(*chosen) || torch_variables;
    input.environment = environment_from_block(environ);
    input.hostname = own_hostname();
    input.addresses = own_addresses();
    input.read_file = [](const std::string& path) {
      return read_bounded_file(path, "file", kMostFileBytes);
    };
    input.command = command;
    input.processes = processes;
    input.master_address = master_address;
    return launchers::foreign_world(input);
  }

  Result<LaunchPlan> make_plan(const launchers::World& world) const {
    launchers::ExecInput exec;
    exec.framework = *framework_named(framework);
    exec.torch_variables = torch_variables;
    exec.world = world;
    exec.environment = environment_from_block(environ);
    const std::vector<int> cpus = allowed_cpus(0);
    exec.facts.cores = fabric::read_cores("", cpus);
    // Our parent may use more CPUs: then ours were assigned to this rank.
    exec.cores_are_own = cpus.size() < allowed_cpus(::getppid()).size();
    exec.master_port = static_cast<std::uint16_t>(master_port.value_or(0));
    exec.local_ports = local_ports();
    return launchers::exec_plan(exec);
  }

  [[nodiscard]] int become(std::uint32_t rank, const Environment& environment) const {
    std::vector<std::string> block;
    block.reserve(environment.size());
    for (const auto& [name, value] : environment) block.push_back(name + '=' + value);
    // execve(2) changes none of the strings, in spite of its signature.
    const std::vector<const char*> envp = argv_pointers(block);
    const std::vector<const char*> argv = argv_pointers(command);
    ::execvpe(argv.front(), const_cast<char* const*>(argv.data()),
              const_cast<char* const*>(envp.data()));
    const int error = errno;
    return print_error({error == ENOENT ? exit_code::kNotFound : exit_code::kCannotExecute,
                        "rank " + std::to_string(rank) + ": cannot execute \"" + command.front() +
                            "\": " + errno_text(error)});
  }
};

}  // namespace

Subcommand exec_command(const TrailingArguments& arguments) {
  auto exec = std::make_shared<ExecCommand>();
  exec->command = arguments;
  const auto describe = [exec](CommandOptions options) {
    options.value("--framework", exec->framework,
                  "Which variables: pytorch (default), deepspeed,\njax, tensorflow, gcp, mpi, "
                  "horovod, none",
                  "NAME");
    options.flag("--torch-variables", exec->torch_variables,
                 "With mpi, horovod: also RANK, WORLD_SIZE,\nMASTER_ADDR, ...");
    options.value("--master-addr,--master_addr", exec->master_address,
                  "Host of rank 0, if the scheduler does not name it", "HOST");
    options.number("--master-port,--master_port", exec->master_port,
                   "Port of rank 0 (default: computed from the job's id)", "PORT");
    options.number("-n,--processes,--np", exec->processes,
                   "Number of processes, if the launcher does not\nset it (Kubernetes)", "N");
    options.value("--join", exec->join, "Internal: starts each rank when dlaunch run uses\nmpirun",
                  "FOLDER");
    options.flag("--print", exec->print,
                 "Print the variables, with the reason for each;\nstart nothing");
    options.flag("--json", exec->json, "Likewise as JSON");
  };
  return {"exec",
          "Under mpirun, srun, ...: set a framework's variables, then run a command",
          kFooter,
          describe,
          [exec] { return exec->execute(); },
          true};
}

}  // namespace dlaunch
