#include "agent/ranks/place_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <optional>
#include <string>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

#include "agent/ranks/carried_environment.h"
#include "agent/ranks/environment_block.h"
#include "agent/ranks/near_name.h"
#include "agent/ranks/python_place.h"
#include "agent/ranks/script_imports.h"
#include "os/spawn.h"
#include "plan/python_command.h"

namespace dlaunch {

namespace {

using Step = StartFailure::Step;

// Limit for asking all Pythons together, short enough for a timeouts.connect of 10 s. A module that
// is still unknown then counts as there.
constexpr std::chrono::milliseconds kAsking{4000};
constexpr std::chrono::milliseconds kMoment{1000};  // extra time for a process that hangs

std::string inside(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + '/' + path;
}

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
  const std::string& last = program.candidates.back();  // the search ends at one that may be run
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

/// `search_path`: where to look, too, for a name without '/', as bash(1) does with its script.
std::optional<StartFailure> check_file(const std::string& name, const std::string& workdir,
                                       const std::string& search_path) {
  const std::string path = inside(workdir, name);
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

/// Python runs a folder, too, if it holds __main__.py.
std::optional<StartFailure> check_script(const std::string& name, const std::string& workdir) {
  const std::string path = inside(workdir, name);
  struct stat info {};
  const bool is_folder = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  return check_file(is_folder ? path + "/__main__.py" : name, workdir, "");
}

/// Why a path that works elsewhere cannot be used here; empty: there is nothing of that name.
std::string why_broken(const std::string& path) {
  struct stat info {};
  if (path.empty() || ::lstat(path.c_str(), &info) != 0) return {};
  if (::stat(path.c_str(), &info) == 0)
    return ::access(path.c_str(), X_OK) == 0 ? "" : errno_text(errno);
  const int error = errno;
  std::string step = path;
  for (int links = 0; links < 40; ++links) {  // as many as Linux follows
    std::array<char, PATH_MAX> target{};
    const ssize_t n = ::readlink(step.c_str(), target.data(), target.size());
    if (n <= 0) break;
    const std::string_view next(target.data(), static_cast<std::size_t>(n));
    step = next.starts_with('/') ? std::string(next)
                                 : step.substr(0, step.rfind('/') + 1) + std::string(next);
  }
  return "it leads to " + step + ": " + errno_text(error);
}

std::string search_path_of(const Environment& env) {
  const auto path = env.find("PATH");
  return path == env.end() ? kDefaultSearchPath : path->second;
}

class Looker {
 public:
  Looker(const wire::CheckPlaces& wanted, const Environment& login)
      : wanted_(wanted),
        base_(carried_environment(login, wanted.carried, wanted.workdir, folder_exists)) {
    look_.answer.attempt = wanted.attempt;
  }

  PlaceLook run() {
    note(check_workdir(wanted_.workdir));
    has_workdir_ = look_.answer.missing.empty();
    const std::string own_path = search_path_of(base_);
    for (const auto& program : wanted_.programs) {
      const bool from_workdir =
          !program.name.starts_with('/') && program.name.find('/') != std::string::npos;
      if (has_workdir_ || !from_workdir)
        note(check_program(program.name, program.search_path.value_or(own_path), wanted_.workdir));
    }
    for (const std::string& file : wanted_.files) {
      if (is_sure_place(file)) note(check_file(file, wanted_.workdir, own_path));
    }
    for (const auto& lookup : wanted_.lookups) look_up(lookup);
    for (const std::string& folder : wanted_.folders) {
      if (!folder_exists(folder)) look_.answer.folders.push_back(folder);
    }
    return std::move(look_);
  }

 private:
  void note(std::optional<StartFailure> failure) {
    if (failure) look_.answer.missing.push_back(std::move(*failure));
  }
  [[nodiscard]] bool is_sure_place(const std::string& path) const {
    return has_workdir_ || path.starts_with('/');
  }

  void look_up(const wire::CheckPlaces::Lookup& lookup) {
    Environment env = base_;
    for (const auto& [name, value] : lookup.env) env.insert_or_assign(name, value);
    FoundProgram found;
    const Program program = find_program(
        lookup.name, lookup.search_path.value_or(search_path_of(env)), wanted_.workdir);
    if (!program.candidates.empty() && ::access(program.candidates.back().c_str(), X_OK) == 0)
      found.path = program.candidates.back();
    if (found.path != lookup.expected) found.broken = why_broken(lookup.expected);
    if (is_python(lookup.name)) look_at(lookup, env, found);
    look_.answer.found.push_back(std::move(found));
  }

  void look_at(const wire::CheckPlaces::Lookup& lookup, const Environment& env,
               FoundProgram& found) {
    const PythonCommand& command = lookup.python;
    const PythonPlace place = found.path.empty() ? PythonPlace{} : python_at(found.path, env);
    found.version = place.version;
    // A wrapper may run it elsewhere, for example in a container.
    if (place.is_script && !place.is_shim) return;
    if (!command.script.empty() && is_sure_place(command.script))
      note(check_script(command.script, wanted_.workdir));
    if (lookup.imports) compare_imports(place, command, wanted_.workdir, env, found);
    if (command.module.empty() || !has_workdir_ || found.path.empty()) return;
    if (!has_module(command.module, module_folders(place, command, wanted_.workdir, env)))
      look_.unseen.push_back({found.path, command, wanted_.workdir, env});
  }

  const wire::CheckPlaces& wanted_;
  const Environment base_;
  bool has_workdir_ = false;
  PlaceLook look_;
};

/// The missing names, one line for each question; an empty line: nothing is missing.
std::string ask_all(const std::vector<ModuleQuestion>& questions) {
  std::string answer;
  for (const ModuleQuestion& question : questions)
    answer += missing_module(question, kAsking / static_cast<int>(questions.size())) + '\n';
  return answer;
}

}  // namespace

PlaceLook look_for_places(const wire::CheckPlaces& wanted, const Environment& login) {
  return Looker(wanted, login).run();
}

void PlaceCheck::begin(const wire::CheckPlaces& wanted, const Environment& login) {
  if (process_.is_under_way()) {
    process_.cancel();
    finish();
  }
  PlaceLook look = look_for_places(wanted, login);
  answer_ = std::move(look.answer);
  if (look.unseen.empty()) return finish();
  process_.begin([unseen = look.unseen] { return ask_all(unseen); }, kAsking + kMoment,
                 [this, unseen = look.unseen](const Result<std::string>& said) {
                   if (said) heard(unseen, *said);
                   finish();
                 });
}

void PlaceCheck::heard(const std::vector<ModuleQuestion>& unseen, const std::string& answer) {
  std::size_t at = 0;
  for (const ModuleQuestion& question : unseen) {
    const std::size_t end = std::min(answer.find('\n', at), answer.size());
    const std::string missing = answer.substr(at, end - at);
    at = std::min(end + 1, answer.size());
    if (missing.empty()) continue;
    const PythonPlace place = python_at(question.python, question.env);
    const auto folders = module_folders(place, question.command, question.workdir, question.env);
    answer_.missing.push_back({Step::module, ENOENT, question.python, "", missing,
                               near_module(question.command.module, folders)});
  }
}

void PlaceCheck::finish() {
  report_(std::exchange(answer_, {}));
}

}  // namespace dlaunch
