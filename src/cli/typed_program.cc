#include "cli/typed_program.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/job_file.h"
#include "os/spawn.h"
#include "plan/python_command.h"
#include "report/plain_text.h"
#include "spec/other_files.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostBytes = 65536;  // directives stand at the beginning of a script

bool is_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_executable(const std::string& path) {
  return is_file(path) && ::access(path.c_str(), X_OK) == 0;
}

/// As execvp(3) finds it.
bool is_found(const std::string& program) {
  const char* path = std::getenv("PATH");
  const auto candidates = find_program(program, path == nullptr ? "" : path, ".").candidates;
  return std::any_of(candidates.begin(), candidates.end(), is_executable);
}

/// Empty for what is no file, or cannot be read.
std::string beginning_of(const std::string& path) {
  if (!is_file(path)) return {};
  return read_bounded_file(path, "file", kMostBytes).value_or("");
}

}  // namespace

std::vector<std::string> words_to_start(const std::string& program) {
  if (program.ends_with(".py")) return {"python3", program};
  if (is_found(program) || !is_file(program)) return {program};
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
  return words.size() > 1 ? is_file(program) : is_found(words.front());
}

std::string batch_script_in(const std::vector<std::string>& command) {
  const std::string file = shell_script(command).value_or(command.front());
  const std::string_view kind = spec::kind_of_script(beginning_of(file));
  return kind.empty() ? std::string() : plain_line(file) + ": " + std::string(kind);
}

}  // namespace dlaunch
