#include "launch/mpi/mpirun_script.h"

#include <chrono>
#include <cstdio>

#include <unistd.h>

#include "fabric/mca_settings.h"
#include "jobfile/host_name.h"
#include "jobfile/shell_quote.h"
#include "launch/session/plan_preview.h"
#include "os/program_output.h"
#include "plan/inherited_env.h"
#include "plan/make_plan.h"
#include "plan/mpirun.h"
#include "plan/user_env.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kVersionLimit{10};

Result<MpirunKind> ask_kind(const std::string& program) {
  const auto text = program_output({program, "--version"}, kVersionLimit);
  if (!text) {
    if (text.error().exit_code != exit_code::kNotFound) return tl::unexpected(text.error());
    return fail(exit_code::kNotFound,
                "there is no \"" + program +
                    "\" on this machine\n         try: --mpirun PROGRAM, such as "
                    "/opt/openmpi/bin/mpirun or mpiexec.hydra");
  }
  if (const auto kind = mpirun_kind(*text)) return *kind;
  return fail(exit_code::kUsage, '"' + program +
                                     "\" is neither Open MPI 4 or 5 nor Hydra (MPICH, Intel MPI); "
                                     "it calls itself: " +
                                     text->substr(0, text->find('\n')));
}

std::string host_list(const std::vector<HostSlots>& hosts) {
  std::string text;
  for (const HostSlots& host : hosts)
    text += (text.empty() ? "" : ",") + host.name + ':' + std::to_string(host.slots);
  return text;
}

bool is_mpi(Framework framework) {
  return framework == Framework::mpi || framework == Framework::horovod;
}

std::vector<std::string> rank_command(const JobSpec& spec, const LaunchPlan& plan) {
  const std::vector<std::string>& argv = plan.commands.front().argv;
  if (is_mpi(spec.framework)) return argv;
  std::vector<std::string> words = {"dlaunch", "exec", "--framework",
                                    std::string(name_of(spec.framework))};
  if (plan.hosts.size() > 1 && !plan.master.address.empty())
    words.insert(words.end(), {"--master-addr", plan.master.address});
  if (spec.rendezvous.port != 0)
    words.insert(words.end(), {"--master-port", std::to_string(spec.rendezvous.port)});
  words.emplace_back("--");
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

/// The script sets the job's own variables (`env`); others keep the values they have where the
/// script is started.
void take_variables(const JobSpec& spec, const Environment& environment, MpirunInput& input,
                    std::string& exports) {
  for (const auto& [name, value] : carried_variables(environment)) input.pass.push_back(name);
  for (const Variable& variable : user_variables(spec, environment)) {
    input.pass.push_back(variable.name);
    if (variable.source == VariableSource::job_env)
      exports += "export " + variable.name + '=' + jobfile::shell_quote(variable.value) + '\n';
  }
  input.pass.emplace_back("DLAUNCH_HOSTS");
  exports += "export DLAUNCH_HOSTS=" + jobfile::shell_quote(host_list(input.hosts)) + '\n';
}

std::string script_of(const LaunchPlan& plan, const MpirunInput& input,
                      const MpirunCommand& command, std::string exports) {
  for (const auto& [name, value] : command.environment)
    exports += "export " + name + '=' + jobfile::shell_quote(value) + '\n';
  std::string text = "#!/bin/sh\n# " + plain_line(plan.name) + ": " +
                     std::to_string(plan.hosts.size()) +
                     (plan.hosts.size() == 1 ? " node" : " nodes") + ", with mpirun of " +
                     std::string(name_of(input.kind)) + "\n";
  text += "cat >" + jobfile::shell_quote(input.hostfile) + " <<'END'\n" +
          hostfile_text(hostfile_dialect(input.kind), input.hosts) + "END\n";
  return text + exports + "exec " + jobfile::shell_line(command.argv) + '\n';
}

/// For the plan, mpirun is one process that reads the nodes from a hostfile. MPI programs need no
/// rendezvous besides mpirun; ranks of other frameworks meet as PyTorch's do.
JobSpec as_one_process(const JobSpec& spec) {
  JobSpec once = spec;
  once.launch = Launch::once;
  once.framework = is_mpi(spec.framework) ? Framework::none : Framework::pytorch;
  return once;
}

Status check_job(const JobSpec& spec) {
  if (!spec.roles.empty())
    return fail(exit_code::kJobFile,
                "mpirun has no roles: a job with roles cannot be exported to it");
  if (spec.launch == Launch::per_process) return {};
  return fail(exit_code::kJobFile,
              "mpirun starts every rank: \"launch: " + std::string(name_of(spec.launch)) +
                  "\" cannot be exported to it");
}

}  // namespace

Result<std::string> make_mpirun_script(const JobSpec& spec, const std::string& current_folder,
                                       const std::string& program) {
  if (const Status s = check_job(spec); !s) return tl::unexpected(s.error());
  const auto kind = ask_kind(program);
  if (!kind) return tl::unexpected(kind.error());
  const JobSpec once = as_one_process(spec);
  PlanContext context;
  context.launcher_env = environment_from_block(environ);
  context.current_folder = current_folder;
  const auto preview = plan_by_facts(once, context);
  if (!preview) return tl::unexpected(preview.error());
  const auto& [cluster, plan, missing] = *preview;
  for (const std::string& line : missing)
    std::fprintf(stderr, "dlaunch: note: a run would fail: %s\n", line.c_str());
  MpirunInput input;
  input.kind = *kind;
  input.program = program;
  input.hostfile = jobfile::name_as_word(plan.name) + ".hosts";
  input.hosts = plan.hosts;
  input.workdir = plan.workdir;
  input.is_root = ::geteuid() == 0;
  input.cpus = spec.binding.cpus;
  input.cores = fewest_cores(cluster);
  input.connect = spec.connect;
  input.host_specs = spec.hosts.hosts;
  input.network = network_of(plan, cluster);
  input.environment = context.launcher_env;
  input.environment.merge(fabric::read_mca_settings("", fabric::mca_files(context.launcher_env)));
  input.command = rank_command(spec, plan);
  std::string exports;
  take_variables(spec, context.launcher_env, input, exports);
  const auto command = mpirun_command(input);
  if (!command) return tl::unexpected(command.error());
  return script_of(plan, input, *command, std::move(exports));
}

}  // namespace dlaunch
