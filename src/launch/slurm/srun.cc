#include "launch/slurm/srun.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <sys/wait.h>

#include "launch/connect/channel_opening.h"
#include "model/environment.h"
#include "model/result.h"
#include "model/signal_names.h"
#include "spec/slurm_allocation.h"

namespace dlaunch {

namespace {

// What was asked for the job as a whole would be asked for one step of one task: a total of GPUs
// that no node has, one GPU of several (--gpus-per-task), labels before each line.
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

/// The part of a line behind "srun: error: ", "slurmstepd-gpu02: error: "; what is no word of
/// Slurm's stays as it is.
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

/// Said when all is well, or after the cause.
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
      {"DUE TO TIME LIMIT", "Slurm has ended the job: its time limit is over (--time)"},
      {"DUE TO PREEMPTION", "Slurm has ended the job: it was preempted"},
      {"DUE TO NODE FAILURE", "Slurm has ended the job: a node failed"},
      {"DUE TO JOB REQUEUE", "Slurm has ended the job: it is requeued"},
  }};
  for (const auto& [words, meaning] : kReasons) {
    if (line.find(words) != std::string_view::npos) return meaning;
  }
  return "Slurm has cancelled the job, or the step that connects the node (scancel)";
}

std::string explained(std::string_view line) {
  if (auto cancelled = cancelled_by_slurm(line)) return *cancelled;
  std::string text = kSrun + std::string(": ") + std::string(without_speaker(line));
  if (line.find("Requested node configuration is not available") != std::string_view::npos)
    text += " (it is no node of this allocation, or not all of its node can be had)";
  if (line.find("Invalid generic resource (gres) specification") != std::string_view::npos)
    text +=
        " (Slurm gives no single node its part of --gpus, nor of --gpus-per-task where nodes "
        "have different numbers; ask for --gpus-per-node)";
  return text;
}

/// The line that names the cause; empty: none does.
std::string cause_in(std::string_view errors) {
  std::string own;
  while (!errors.empty()) {
    const std::size_t end = std::min(errors.find('\n'), errors.size());
    const std::string line = last_line(errors.substr(0, end));
    errors.remove_prefix(std::min(end + 1, errors.size()));
    if (auto cancelled = cancelled_by_slurm(line)) return *cancelled;
    if (own.empty() && is_of_slurm(line) && !says_nothing(line)) own = explained(line);
  }
  return own;
}

/// What comes without a speaker is the command's.
std::string last_word_of_command(std::string_view errors) {
  std::string found;
  while (!errors.empty()) {
    const std::size_t end = std::min(errors.find('\n'), errors.size());
    std::string line = last_line(errors.substr(0, end));
    errors.remove_prefix(std::min(end + 1, errors.size()));
    if (!line.empty() && !is_of_slurm(line)) found = std::move(line);
  }
  return found;
}

std::string killed(int wait_status) {
  return std::string(kSrun) + ": was killed by " + signal_name(WTERMSIG(wait_status));
}

}  // namespace

std::vector<std::string> srun_words(const HostSpec& host, const std::string& remote_command,
                                    int gpus) {
  std::vector<std::string> words = {
      kSrun,        "--overlap",    "--unbuffered", "--cpu-bind=none",   "--mem=0",
      "--mpi=none", "--export=ALL", "--chdir=/",    "--job-name=dlaunch"};
  if (gpus > 0) words.push_back("--gres=gpu:" + std::to_string(gpus));
  words.insert(words.end(), {"-N1", "-n1", "-w", host.name, "--", "/bin/sh", "-c", remote_command});
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
  for (std::string_view rest = errors; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line = last_line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::string_view said = line;
    for (const std::string_view kind : {": error: ", ": fatal: "}) {
      if (const std::size_t at = said.find(kind); at != std::string_view::npos)
        said.remove_prefix(at + kind.size());
    }
    if (!said.empty()) text += (text.empty() ? "" : "; ") + std::string(said);
  }
  return text.empty() ? "it said nothing" : text;
}

ConnectFailure srun_failure_of(const ConnectEnd& end) {
  using Kind = ConnectFailure::Kind;
  if (WIFSIGNALED(end.wait_status)) return {Kind::final, killed(end.wait_status)};
  std::string cause = cause_in(end.errors);
  if (!cause.empty()) return {Kind::final, std::move(cause)};
  const int code = WEXITSTATUS(end.wait_status);
  std::string said = last_word_of_command(end.errors);
  if (said.empty()) said = end.last_line;
  const std::string text = std::string(kSrun) + ": its command ended with code " +
                           std::to_string(code) + (said.empty() ? "" : ": " + said);
  // As a shell returns it for a file that is no program; see connect_failure.cc.
  constexpr int kSyntaxError = 2;
  const bool bad_file = code == kSyntaxError || code == exit_code::kCannotExecute ||
                        code == exit_code::kNotFound || code > exit_code::kSignalBase;
  return {bad_file ? Kind::cannot_execute : Kind::final, text};
}

std::string end_of_srun(const ConnectEnd& end) {
  if (WIFSIGNALED(end.wait_status)) return "its connection ended: " + killed(end.wait_status);
  if (const std::string cause = cause_in(end.errors); !cause.empty()) return cause;
  const std::string said = last_word_of_command(end.errors);
  constexpr std::string_view kOurs = "dlaunch: ";
  return said.starts_with(kOurs) ? "its agent ended: " + said.substr(kOurs.size()) : "";
}

}  // namespace dlaunch
