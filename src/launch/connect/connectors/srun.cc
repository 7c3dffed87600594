#include "launch/connect/connectors/srun.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <sys/wait.h>

#include "jobfile/slurm_allocation.h"
#include "launch/connect/channel_opening.h"
#include "launch/connect/connector.h"
#include "model/result.h"

namespace dlaunch {

namespace {

constexpr const char* kSrun = "srun";
// How the text begins if Slurm itself ended a step.
constexpr std::string_view kEndedBySlurm = "Slurm ";

// srun would apply these options of the whole job to one step of one task: a total of GPUs that no
// node has, one GPU of several (--gpus-per-task), labels before each line.
constexpr std::array<std::string_view, 45> kNotForSteps = {
    "SLURM_NTASKS",          "SLURM_NTASKS_PER_*", "SLURM_NPROCS",        "SLURM_TASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",   "SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU",  "SLURM_CPU_BIND*",
    "SLURM_MEM_BIND*",       "SLURM_MEM_PER_*",    "SLURM_GPUS",          "SLURM_GPUS_PER_TASK",
    "SLURM_GPUS_PER_SOCKET", "SLURM_GPU_BIND",     "SLURM_GRES",          "SLURM_GRES_FLAGS",
    "SLURM_TRES_*",          "SLURM_DISTRIBUTION", "SLURM_DIST_*",        "SLURM_EXACT",
    "SLURM_EXCLUSIVE",       "SLURM_WHOLE",        "SLURM_OVERCOMMIT",    "SLURM_THREADS_PER_CORE",
    "SLURM_CORE_SPEC",       "SLURM_THREAD_SPEC",  "SLURM_HINT",          "SLURM_LABELIO",
    "SLURM_STDINMODE",       "SLURM_STDOUTMODE",   "SLURM_STDERRMODE",    "SLURM_MPI_TYPE",
    "SLURM_MULTI_PROG",      "SLURM_WAIT",         "SLURM_KILL_BAD_EXIT", "SLURM_EXPORT_ENV",
    "SLURM_REMOTE_CWD",      "SLURM_TIMELIMIT",    "SLURM_STEP*",         "SLURM_IMMEDIATE",
    "SLURM_NETWORK",         "SLURM_RELATIVE",     "SLURM_THREADS",       "SLURM_EPILOG",
    "SLURM_PROLOG"};

bool is_not_for_steps(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::any_of(kNotForSteps.begin(), kNotForSteps.end(),
                     [&](std::string_view pattern) { return matches_pattern(pattern, name); });
}

/// The part of a line after "srun: error: " or "slurmstepd-gpu02: error: "; any other line is
/// unchanged.
std::string_view without_speaker(std::string_view line) {
  if (!line.starts_with("srun: ") && !line.starts_with("slurmstepd")) return line;
  line.remove_prefix(line.find(": ") + std::min<std::size_t>(2, line.size()));
  for (const std::string_view kind : {"error: ", "fatal: ", "warning: ", "info: "}) {
    if (line.starts_with(kind)) line.remove_prefix(kind.size());
  }
  return line;
}

bool is_of_slurm(std::string_view line) {
  return line.starts_with("srun: ") || line.starts_with("slurmstepd");
}

/// Whether the line is one that is also printed when all is well, or that only follows the cause.
bool says_nothing(std::string_view line) {
  constexpr std::array<std::string_view, 12> kParts = {"lacks support for cpu binding",
                                                       "Job step aborted: Waiting",
                                                       "Timed out waiting for job step",
                                                       "Terminating StepId",
                                                       "srun: warning:",
                                                       "srun: launch/slurm:",
                                                       "Exited with exit code",
                                                       ": Killed",
                                                       ": Terminated",
                                                       "forcing job termination",
                                                       "task 0: running",
                                                       "couldn't chdir"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return line.find(part) != std::string_view::npos;
  });
}

/// "*** STEP 7.2 ON gpu02 CANCELLED AT 2026-11-22T04:48:43 DUE TO TIME LIMIT ***" of slurmstepd.
std::optional<std::string> cancelled_by_slurm(std::string_view line) {
  if (line.find("***") == std::string_view::npos ||
      line.find("CANCELLED") == std::string_view::npos)
    return std::nullopt;
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kReasons = {{
      {"DUE TO TIME LIMIT", "Slurm ended the job: its time limit was reached (--time)"},
      {"DUE TO PREEMPTION", "Slurm ended the job: it was preempted"},
      {"DUE TO NODE FAILURE", "Slurm ended the job: a node failed"},
      {"DUE TO JOB REQUEUE", "Slurm ended the job: it was requeued"},
  }};
  for (const auto& [words, meaning] : kReasons) {
    if (line.find(words) != std::string_view::npos) return meaning;
  }
  return "Slurm cancelled the job, or the step that connects to the node (scancel)";
}

std::string explained(std::string_view line) {
  if (auto cancelled = cancelled_by_slurm(line)) return *cancelled;
  std::string text = kSrun + std::string(": ") + std::string(without_speaker(line));
  if (line.find("Requested node configuration is not available") != std::string_view::npos)
    text += " (the host is not in this allocation, or part of it is in use)";
  if (line.find("Invalid generic resource (gres) specification") != std::string_view::npos)
    text +=
        " (Slurm does not give a single node its share of --gpus, nor of --gpus-per-task if the "
        "nodes have different numbers of tasks; request --gpus-per-node)";
  return text;
}

/// The line that names the cause; empty: none.
std::string cause_in(std::string_view errors) {
  std::string own;
  for (const std::string& line : lines_of(errors)) {
    if (auto cancelled = cancelled_by_slurm(line)) return *cancelled;
    if (own.empty() && is_of_slurm(line) && !says_nothing(line)) own = explained(line);
  }
  return own;
}

/// The last line of stderr that Slurm did not write.
std::string last_line_of_command(std::string_view errors) {
  const std::vector<std::string> lines = lines_of(errors);
  const auto last = std::find_if_not(lines.rbegin(), lines.rend(),
                                     [](const std::string& line) { return is_of_slurm(line); });
  return last == lines.rend() ? "" : *last;
}

Result<std::vector<std::string>> argv(const Connect&, const HostSpec& host,
                                      const ConnectRequest& request) {
  return srun_words(host.name, request.remote_command, request.host_option);
}

HostOptions prepare(std::vector<std::string>& environment) {
  Environment variables;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  HostOptions options;
  for (const auto& [host, gpus] : step_gpus(variables))
    options[host] = "--gres=gpu:" + std::to_string(gpus);
  prepare_for_srun(environment);
  return options;
}

ConnectFailure failure(const ConnectEnd& end) {
  using Kind = ConnectFailure::Kind;
  if (std::string killed = killed_text(end); !killed.empty())
    return {Kind::final, std::move(killed)};
  if (std::string cause = cause_in(end.errors); !cause.empty())
    return {Kind::final, std::move(cause)};
  return command_failure(end, last_line_of_command(end.errors));
}

/// What runs in a step ends with the step, so reconnecting is pointless after Slurm ended it.
LastWords end(const ConnectEnd& end) {
  if (const std::string killed = killed_text(end); !killed.empty())
    return {"its connection ended: " + killed};
  if (std::string cause = cause_in(end.errors); !cause.empty())
    return {cause, cause.starts_with(kEndedBySlurm)};
  return {agent_end_text(end)};
}

}  // namespace

extern const Connector kSlurmConnector;
const Connector kSlurmConnector{.name = Connect::Via::slurm,
                                .own_exit_codes = true,
                                .program = [](const Connect&) { return std::string(kSrun); },
                                .argv = argv,
                                .failure = failure,
                                .end = end,
                                .prepare = prepare};

std::vector<std::string> srun_words(const std::string& host, const std::string& remote_command,
                                    const std::string& option) {
  std::vector<std::string> words = {
      kSrun,        "--overlap",    "--unbuffered", "--cpu-bind=none",   "--mem=0",
      "--mpi=none", "--export=ALL", "--chdir=/",    "--job-name=dlaunch"};
  if (!option.empty()) words.push_back(option);
  words.insert(words.end(), {"-N1", "-n1", "-w", host, "--", "/bin/sh", "-c", remote_command});
  return words;
}

std::map<std::string, int> step_gpus(const Environment& environment) {
  std::map<std::string, int> gpus;
  const auto allocation = read_slurm_allocation(environment);
  if (!allocation || !*allocation) return gpus;
  for (const SlurmNode& node : (*allocation)->nodes) {
    if (node.step_gpus > 0) gpus[node.name] = node.step_gpus;
  }
  return gpus;
}

void prepare_for_srun(std::vector<std::string>& environment) {
  std::erase_if(environment, [](const std::string& entry) { return is_not_for_steps(entry); });
}

std::string words_of_slurm(const std::string& errors) {
  std::string text;
  for (std::string_view said : lines_of(errors)) {
    for (const std::string_view kind : {": error: ", ": fatal: "}) {
      if (const std::size_t at = said.find(kind); at != std::string_view::npos)
        said.remove_prefix(at + kind.size());
    }
    if (!said.empty()) text += (text.empty() ? "" : "; ") + std::string(said);
  }
  return text.empty() ? "it printed no message" : text;
}

}  // namespace dlaunch
