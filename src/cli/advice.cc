#include "cli/advice.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "jobfile/launch_lines/launch_line.h"
#include "jobfile/other_files.h"
#include "jobfile/shell_quote.h"
#include "os/bounded_file.h"
#include "os/files.h"
#include "os/spawn.h"
#include "plan/command.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::string_view kToList = "to list runs and their states: dlaunch runs";
constexpr std::string_view kToStop = "to end a run: dlaunch stop RUN";
constexpr std::string_view kToSee = "to see what the ranks print: dlaunch logs -f";
constexpr std::string_view kToRun = "to start a job: dlaunch run";
constexpr std::string_view kToTry =
    "to see what would run where, and start nothing: dlaunch plan job.yaml";
constexpr std::string_view kToInspect = "to see what works on this machine: dlaunch self-check";
constexpr std::string_view kToTest = "to test machines and their network: dlaunch check";
constexpr std::string_view kInPlace = "use dlaunch instead: dlaunch run -n 4 -- python3 train.py";

constexpr std::array<std::pair<std::string_view, std::string_view>, 34> kCommands{{
    {"ps", kToList},          {"ls", kToList},         {"list", kToList},
    {"top", kToList},         {"stat", kToList},       {"stats", kToList},
    {"state", kToList},       {"history", kToList},    {"queue", kToList},
    {"squeue", kToList},      {"jobs", kToList},       {"kill", kToStop},
    {"cancel", kToStop},      {"scancel", kToStop},    {"abort", kToStop},
    {"tail", kToSee},         {"output", kToSee},      {"watch", kToSee},
    {"follow", kToSee},       {"start", kToRun},       {"launch", kToRun},
    {"execute", kToRun},      {"validate", kToTry},    {"lint", kToTry},
    {"dry-run", kToTry},      {"doctor", kToInspect},  {"test", kToTest},
    {"mpirun", kInPlace},     {"mpiexec", kInPlace},   {"srun", kInPlace},
    {"torchrun", kInPlace},   {"deepspeed", kInPlace}, {"accelerate", kInPlace},
    {"horovodrun", kInPlace},
}};

bool is_executable(const std::string& path) {
  return is_regular_file(path) && ::access(path.c_str(), X_OK) == 0;
}

/// Whether execvp(3) would find the program.
bool is_found(const std::string& program) {
  const char* path = std::getenv("PATH");
  const auto candidates = find_program(program, path == nullptr ? "" : path, ".").candidates;
  return std::any_of(candidates.begin(), candidates.end(), is_executable);
}

/// The part of a script that can hold directives, or the first byte of another program. Empty: the
/// file cannot be read.
std::string beginning_of(const std::string& path) {
  constexpr std::size_t kMostBytes = 65536;
  if (!is_regular_file(path)) return {};
  std::string text = read_bounded_file(path, "file", 1).value_or("");
  return text.starts_with('#') ? read_bounded_file(path, "file", kMostBytes).value_or("") : text;
}

}  // namespace

std::optional<std::string> command_meant(std::string_view word) {
  for (const auto& [known, advice] : kCommands) {
    if (known == word) return std::string(advice);
  }
  return std::nullopt;
}

std::optional<std::string> line_instead(const std::vector<std::string>& words) {
  const auto line = jobfile::read_launch_line(jobfile::literal_words(words),
                                              [](std::string_view) { return std::nullopt; });
  if (!line || line->program.empty()) return std::nullopt;
  const std::string command = line->options.submit.empty() ? "dlaunch run" : "dlaunch submit";
  std::vector<std::string> typed = line->options.words();
  if (!line->options.file.empty()) typed.push_back(line->options.file);
  typed.emplace_back("--");
  const auto program = jobfile::program_words(*line);
  typed.insert(typed.end(), program.begin(), program.end());
  std::string text = "use dlaunch instead: " + command + ' ' + jobfile::shell_line(typed);
  for (const jobfile::LeftOut& one : line->options.left_out)
    text += "\n         " + plain_line(one.typed) + ": " + one.why;
  return text;
}

bool sounds_like_command(std::string_view word) {
  constexpr std::array<std::string_view, 11> kWords{"rm",    "remove",  "delete", "resume",
                                                    "pause", "suspend", "wait",   "install",
                                                    "login", "reset",   "sync"};
  return contains(kWords, word);
}

std::string with_two_dashes(std::string_view word) {
  using namespace jobfile;
  const std::string name = option_name(word);
  const bool is_long =
      name.size() > 1 && !word.starts_with("--") && (launchers_with(name) & launcher::kMpi) != 0;
  return (is_long ? "-" : "") + std::string(word);
}

std::vector<std::string> words_to_start(const std::string& program) {
  if (program.ends_with(".py")) return {"python3", program};
  if (is_found(program) || !is_regular_file(program)) return {program};
  const bool is_shell_script = program.ends_with(".sh");
  if (is_executable(program) && !is_shell_script) return {"./" + program};
  const std::string text = beginning_of(program);
  const std::string_view first = std::string_view(text).substr(0, text.find('\n'));
  if (!first.starts_with("#!") && !is_shell_script) return {program};
  const bool is_python = first.find("python") != std::string_view::npos;
  return {is_python ? "python3" : "bash", program};
}

bool can_start(const std::string& program) {
  const std::vector<std::string> words = words_to_start(program);
  return words.size() > 1 ? is_regular_file(program) : is_found(words.front());
}

std::string batch_script_in(const std::vector<std::string>& command) {
  const std::string file = shell_script(command).value_or(command.front());
  const std::string_view kind = jobfile::kind_of_script(beginning_of(file));
  return kind.empty() ? std::string() : plain_line(file) + ": " + std::string(kind);
}

}  // namespace dlaunch
