#include "node/ranks/prerequisite_check.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "node/ranks/carried_environment.h"
#include "node/ranks/environment_block.h"
#include "node/ranks/near_name.h"
#include "node/ranks/python_installation.h"
#include "node/ranks/script_imports.h"
#include "os/proc_file.h"
#include "os/spawn.h"
#include "plan/command.h"

namespace dlaunch {

namespace {

using Step = StartFailure::Step;

// Limit for probing all Pythons together, short enough for a timeouts.connect of 10 s. A module
// that is still unknown then counts as present.
constexpr std::chrono::milliseconds kProbeLimit{4000};
constexpr std::chrono::milliseconds kHangLimit{1000};  // extra time for a process that hangs

std::optional<StartFailure> check_workdir(const std::string& workdir) {
  struct stat info {};
  const bool there = ::stat(workdir.c_str(), &info) == 0;
  const bool is_file = there && !S_ISDIR(info.st_mode);
  int error = is_file ? ENOTDIR : 0;
  if (!there || (!is_file && ::access(workdir.c_str(), X_OK) != 0)) error = errno;
  if (error == 0) return std::nullopt;
  return StartFailure{Step::workdir, error, workdir, ""};
}

std::optional<StartFailure> check_program(const std::string& name, const std::string& search_path,
                                          const std::string& workdir) {
  const Program program = find_program(name, search_path, workdir);
  if (program.candidates.empty()) {
    StartFailure failure{Step::execute, ENOENT, name, program.search_path};
    // Debian has no "python", a virtual environment may have no "python3.12".
    for (const char* other : {"python3", "python"}) {
      if (failure.near.empty() && is_python(name) &&
          !find_program(other, search_path, workdir).candidates.empty())
        failure.near = other;
    }
    return failure;
  }
  const std::string& last = program.candidates.back();  // the search ends at an executable one
  struct stat info {};
  if (::stat(last.c_str(), &info) != 0) {
    const int error = errno;
    return StartFailure{Step::execute,       error, name,
                        program.search_path, "",    near_file(name, workdir)};
  }
  if (S_ISDIR(info.st_mode)) return StartFailure{Step::execute, EISDIR, name, program.search_path};
  if (::access(last.c_str(), X_OK) == 0) return std::nullopt;
  return StartFailure{Step::execute, errno, last, program.search_path};
}

/// `search_path`: searched too for a name without '/', as bash(1) searches PATH for its script.
std::optional<StartFailure> check_file(const std::string& name, const std::string& workdir,
                                       const std::string& search_path) {
  const std::string path = path_from(workdir, name);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    const int error = errno;
    if (name.find('/') == std::string::npos &&
        !find_program(name, search_path, workdir).candidates.empty())
      return std::nullopt;
    return StartFailure{Step::file, error, path, "", "", near_file(name, workdir)};
  }
  if (S_ISDIR(info.st_mode)) return StartFailure{Step::file, EISDIR, path, ""};
  if (::access(path.c_str(), R_OK) != 0) return StartFailure{Step::file, errno, path, ""};
  return std::nullopt;
}

/// Python also runs a folder that contains __main__.py.
std::optional<StartFailure> check_script(const std::string& name, const std::string& workdir) {
  const std::string path = path_from(workdir, name);
  struct stat info {};
  const bool is_folder = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return check_file(is_folder ? path + "/__main__.py" : name, workdir, "");
}

/// Why a path that may work on other nodes cannot be used on this one; empty if it does not exist.
std::string why_broken(const std::string& path) {
  struct stat info {};
  if (path.empty() || ::lstat(path.c_str(), &info) != 0) return {};
  if (::stat(path.c_str(), &info) == 0)
    return ::access(path.c_str(), X_OK) == 0 ? "" : errno_text(errno);
  const int error = errno;
  std::string step = path;
  for (int links = 0; links < 40; ++links) {  // Linux follows at most 40
    const std::string next = link_target(step);
    if (next.empty()) break;
    step = next.starts_with('/') ? next : step.substr(0, step.rfind('/') + 1) + next;
  }
  return "it leads to " + step + ": " + errno_text(error);
}

std::string search_path_of(const Environment& env) {
  const auto path = env.find("PATH");
  return path == env.end() ? kDefaultSearchPath : path->second;
}

class Checker {
 public:
  Checker(const wire::CheckPrerequisites& wanted, const Environment& login)
      : wanted_(wanted),
        base_(carried_environment(login, wanted.carried, wanted.workdir, folder_exists)) {
    report_.answer.attempt = wanted.attempt;
  }

  PrerequisiteReport run() {
    note(check_workdir(wanted_.workdir));
    has_workdir_ = report_.answer.missing.empty();
    const std::string own_path = search_path_of(base_);
    for (const auto& program : wanted_.programs) {
      const bool from_workdir =
          !program.name.starts_with('/') && program.name.find('/') != std::string::npos;
      if (has_workdir_ || !from_workdir)
        note(check_program(program.name, program.search_path.value_or(own_path), wanted_.workdir));
    }
    for (const std::string& file : wanted_.files) {
      if (is_location_known(file)) note(check_file(file, wanted_.workdir, own_path));
    }
    for (const auto& lookup : wanted_.lookups) look_up(lookup);
    for (const std::string& folder : wanted_.folders) {
      if (!folder_exists(folder)) report_.answer.folders.push_back(folder);
    }
    return std::move(report_);
  }

 private:
  void note(std::optional<StartFailure> failure) {
    if (failure) report_.answer.missing.push_back(std::move(*failure));
  }
  [[nodiscard]] bool is_location_known(const std::string& path) const {
    return has_workdir_ || path.starts_with('/');
  }

  void look_up(const wire::CheckPrerequisites::Lookup& lookup) {
    Environment env = base_;
    for (const auto& [name, value] : lookup.env) env.insert_or_assign(name, value);
    FoundProgram found;
    const Program program = find_program(
        lookup.name, lookup.search_path.value_or(search_path_of(env)), wanted_.workdir);
    if (!program.candidates.empty() && ::access(program.candidates.back().c_str(), X_OK) == 0)
      found.path = program.candidates.back();
    if (found.path != lookup.expected) found.broken = why_broken(lookup.expected);
    if (is_python(lookup.name)) check_python(lookup, env, found);
    report_.answer.found.push_back(std::move(found));
  }

  void check_python(const wire::CheckPrerequisites::Lookup& lookup, const Environment& env,
                    FoundProgram& found) {
    const PythonCommand& command = lookup.python;
    const PythonInstallation python =
        found.path.empty() ? PythonInstallation{} : python_at(found.path, env);
    found.version = python.version;
    // A wrapper may run Python elsewhere, for example in a container.
    if (python.is_script && !python.is_shim) return;
    if (!command.script.empty() && is_location_known(command.script))
      note(check_script(command.script, wanted_.workdir));
    if (lookup.imports) compare_imports(python, command, wanted_.workdir, env, found);
    if (command.module.empty() || !has_workdir_ || found.path.empty()) return;
    if (!has_module(command.module, module_folders(python, command, wanted_.workdir, env)))
      report_.unseen.push_back({found.path, command, wanted_.workdir, env});
  }

  const wire::CheckPrerequisites& wanted_;
  const Environment base_;
  bool has_workdir_ = false;
  PrerequisiteReport report_;
};

/// The missing module of each probe, one per line; an empty line: none is missing.
std::string run_all(const std::vector<ModuleProbe>& probes) {
  std::string answer;
  for (const ModuleProbe& probe : probes)
    answer += missing_module(probe, kProbeLimit / static_cast<int>(probes.size())) + '\n';
  return answer;
}

}  // namespace

PrerequisiteReport check_prerequisites(const wire::CheckPrerequisites& wanted,
                                       const Environment& login) {
  return Checker(wanted, login).run();
}

void PrerequisiteCheck::begin(const wire::CheckPrerequisites& wanted, const Environment& login) {
  if (process_.is_under_way()) {
    process_.cancel();
    finish();
  }
  PrerequisiteReport report = check_prerequisites(wanted, login);
  answer_ = std::move(report.answer);
  if (report.unseen.empty()) return finish();
  process_.begin([unseen = report.unseen] { return run_all(unseen); }, kProbeLimit + kHangLimit,
                 [this, unseen = report.unseen](const Result<std::string>& said) {
                   if (said) add_missing(unseen, *said);
                   finish();
                 });
}

void PrerequisiteCheck::add_missing(const std::vector<ModuleProbe>& unseen,
                                    const std::string& answer) {
  std::size_t at = 0;
  for (const ModuleProbe& probe : unseen) {
    const std::size_t end = std::min(answer.find('\n', at), answer.size());
    const std::string missing = answer.substr(at, end - at);
    at = std::min(end + 1, answer.size());
    if (missing.empty()) continue;
    const PythonInstallation python = python_at(probe.python, probe.env);
    const auto folders = module_folders(python, probe.command, probe.workdir, probe.env);
    answer_.missing.push_back({Step::module, ENOENT, probe.python, "", missing,
                               near_module(probe.command.module, folders)});
  }
}

void PrerequisiteCheck::finish() {
  report_(std::exchange(answer_, {}));
}

}  // namespace dlaunch
