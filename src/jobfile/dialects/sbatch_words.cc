#include "jobfile/dialects/sbatch_words.h"

#include <algorithm>

#include "jobfile/diagnostics.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/launch_lines/shell_text.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::string_view kOtherOptions =
    "acctg-freq batch bb bbf begin cluster-constraint clusters comment container container-id "
    "contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu deadline delay-boot dependency "
    "export-file extra extra-node-info get-user-env gid gpu-freq gpus-per-socket gres-flags hold "
    "ignore-pbs input output kill-on-invalid-dep licenses mail-type mail-user mcs-label "
    "mem-per-cpu mem-per-gpu mincpus network nice no-kill no-requeue nodefile ntasks-per-core "
    "ntasks-per-gpu ntasks-per-socket open-mode oversubscribe parsable power prefer priority "
    "profile propagate reboot requeue resv-ports segment sockets-per-node spread-job stepmgr "
    "switches test-only thread-spec threads-per-core time-min tmp tres-bind tres-per-task uid "
    "use-min-nodes wait wait-all-nodes wckey x11 B C F H I L M Q S W b d e i k o s";

constexpr std::string_view kHarmless =
    "echo printf date hostname pwd ls cat nvidia-smi env printenv set shopt trap wait sleep true : "
    "exit return [ [[ test then else elif fi for do done while until if case esac { } scontrol "
    "squeue sacct scancel which type whoami local unset ((";

/// Adds the names in arithmetic, where they need no "$".
void add_arithmetic(std::string_view text, Names& names) {
  text = text.substr(0, text.find("))"));
  for (std::size_t at = 0; at < text.size();) {
    auto end = at;
    while (end < text.size() && (is_letter_or_digit(text[end]) || text[end] == '_')) ++end;
    if (end > at && !is_digit(text[at])) names.emplace(text.substr(at, end - at));
    at = end + 1;
  }
}

bool is_word_of(std::string_view list, std::string_view word) {
  return contains(split_words(list), word);
}

}  // namespace

std::vector<std::string_view> other_sbatch_options() {
  return split_words(kOtherOptions);
}

bool is_harmless(std::string_view word) {
  return is_word_of(kHarmless, word);
}

Names names_in(std::string_view text) {
  Names names;
  for (auto at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    auto begin = at + 1;
    if (begin < text.size() && (text[begin] == '{')) ++begin;
    if (begin < text.size() && text[begin] == '#') ++begin;  // ${#nodes[@]}
    auto end = begin;
    while (end < text.size() && (is_letter_or_digit(text[end]) || text[end] == '_')) ++end;
    if (end > begin) names.emplace(text.substr(begin, end - begin));
    if (text.substr(at, 3) == "$((") add_arithmetic(text.substr(at + 3), names);
  }
  return names;
}

bool is_usual(std::string_view name) {
  return is_word_of(
      "HOME USER LOGNAME PATH LD_LIBRARY_PATH PYTHONPATH PWD OLDPWD TMPDIR HOSTNAME SHELL BASH "
      "BASH_SOURCE RANDOM SECONDS UID EUID PPID IFS FUNCNAME LINENO PIPESTATUS OSTYPE "
      "CUDA_VISIBLE_DEVICES",
      name);
}

bool asks_slurm(std::string_view text) {
  for (const std::string_view word : {"scontrol", "squeue", "sacct", "NODELIST"})
    if (text.find(word) != std::string_view::npos) return true;
  return false;
}

Names slurm_only_variables(const std::vector<ShellStep>& steps) {
  Names found;
  for (const ShellStep& step : steps) {
    const Names inside = names_in(step.text);
    const bool is_of_other = std::any_of(inside.begin(), inside.end(),
                                         [&](const auto& name) { return found.contains(name); });
    if (!step.name.empty() && (is_of_other || asks_slurm(step.text))) found.insert(step.name);
  }
  return found;
}

std::vector<const ShellStep*> needed_steps(const std::vector<ShellStep>& steps,
                                           std::string_view command) {
  Names needed = names_in(command);
  std::vector<const ShellStep*> chosen;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const bool is_needed = step->name.empty() || step->is_exported || needed.contains(step->name);
    if (!is_needed || is_secret(step->name)) continue;
    needed.merge(names_in(step->text));
    chosen.push_back(&*step);
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

std::string slurm_exports(const Names& names, bool is_task) {
  std::string line;
  if (is_task)
    line =
        " SLURM_PROCID=\"$DLAUNCH_RANK\" SLURM_LOCALID=\"$DLAUNCH_LOCAL_RANK\" "
        "SLURM_NODEID=\"$DLAUNCH_NODE_RANK\" SLURM_NTASKS=\"$DLAUNCH_WORLD_SIZE\" "
        "SLURM_NPROCS=\"$DLAUNCH_WORLD_SIZE\"";
  for (const std::string name : {"SLURM_JOB_ID", "SLURM_JOBID"})
    if (names.contains(name)) line += ' ' + name + "=\"${" + name + ":-$DLAUNCH_RUN_ID}\"";
  return line.empty() ? line : "export" + line;
}

std::string first_word(const std::string& command) {
  return command.substr(0, command.find_first_of(" \n"));
}

namespace {

constexpr std::size_t kMostShown = 5;

/// Whether the command starts ranks, or may do so: the launcher, a function, or a variable.
bool starts_something(const LaunchScript& script, const std::string& command) {
  const auto started = started_commands(command);
  return std::any_of(started.begin(), started.end(), [&](const auto& words) {
    const std::string_view name = file_name(words.front());
    return name.starts_with('$') || name.starts_with('"') || name.find('(') != name.npos ||
           (!script.line->launcher.empty() && script.line->launcher.starts_with(name)) ||
           worker_launcher(words);
  });
}

/// At most two words of the command, because further words may be secrets: "wandb login KEY".
std::string first_words(const std::string& command) {
  const auto second = command.find(' ');
  const auto third = second == std::string::npos ? second : command.find(' ', second + 1);
  const std::string words = command.substr(0, third);
  const bool may_be_secret = words.find_first_of("=:") != std::string::npos;
  if (third == std::string::npos && !may_be_secret) return command;
  return (may_be_secret ? first_word(command) : words) + " ...";
}

}  // namespace

IgnoredCommands ignored_commands(const LaunchScript& script) {
  IgnoredCommands ignored;
  const std::string program = program_words(*script.line).front();
  for (const std::string& command : script.ignored) {
    const std::string first = first_word(command);
    const bool is_program = script.line->launcher.empty() && first == program;
    if (is_program || starts_something(script, command) || is_harmless(first)) continue;
    if (ignored.shown.empty()) ignored.first = first;
    if (ignored.shown.size() < kMostShown) ignored.shown.push_back(in_quotes(first_words(command)));
  }
  return ignored;
}

}  // namespace dlaunch::jobfile
