#include "launch/session/prerequisite_question.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobfile/shell_quote.h"
#include "os/spawn.h"
#include "os/unique_fd.h"
#include "plan/command.h"
#include "plan/prerequisites.h"
#include "sync/rules.h"
#include "text/json_text.h"

namespace dlaunch {

namespace {

std::string inside(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + '/' + path;
}

std::optional<std::string> beginning_of(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{64} << 10U;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string text(kMost, '\0');
  const ssize_t n = ::read(file.get(), text.data(), text.size());
  if (n < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(n));
  return text;
}

std::string found_program(const std::string& name, const std::string& search_path,
                          const std::string& workdir) {
  const Program program = find_program(name, search_path, workdir);
  if (program.candidates.empty()) return {};
  const std::string& path = program.candidates.back();
  return ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

/// Caches a function, since the question is the same for each node.
template <class Value, class Key>
auto remembered(std::function<Value(const Key&)> ask) {
  return [ask = std::move(ask), known = std::make_shared<std::map<Key, Value>>()](const Key& key) {
    auto found = known->find(key);
    if (found == known->end()) found = known->emplace(key, ask(key)).first;
    return found->second;
  };
}

}  // namespace

LauncherFiles launcher_files(const std::string& workdir) {
  using Name = std::pair<std::string, std::string>;  // of a program, and PATH
  LauncherFiles files;
  files.is_folder = [](const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  };
  files.read_file = remembered(std::function<std::optional<std::string>(const std::string&)>(
      [workdir](const std::string& path) { return beginning_of(inside(workdir, path)); }));
  const auto find = remembered(std::function<std::string(const Name&)>(
      [workdir](const Name& name) { return found_program(name.first, name.second, workdir); }));
  files.find_program = [find](const std::string& name, const std::string& search_path) {
    return find({name, search_path});
  };
  return files;
}

bool has_remote_nodes(const LaunchPlan& plan) {
  return std::any_of(plan.nodes.begin(), plan.nodes.end(),
                     [](const NodePlan& node) { return node.is_remote; });
}

PrerequisiteQuestion prerequisite_question(const JobSpec& spec, const LaunchPlan& plan,
                                           NodeRank node, const LauncherFiles& files) {
  PrerequisiteQuestion question;
  wire::CheckPrerequisites& check = question.message;
  check.attempt = plan.attempt;
  check.workdir = plan.workdir;
  const bool is_remote = plan.nodes[node.value].is_remote;
  if (is_remote) check.carried = plan.carried;
  Prerequisites needed = prerequisites_of(spec, plan, node);
  for (Prerequisites::Program& program : needed.programs)
    check.programs.push_back({std::move(program.name), std::move(program.search_path)});
  check.files = std::move(needed.files);
  if (is_remote && spec.active_env == ActiveEnv::required && !needed.programs.empty()) {
    const auto active = active_environments(plan, files);
    question.uses = environment_uses(spec, plan, node, active, files);
    for (const ActiveEnvironment& one : active) check.folders.push_back(bin_of(one));
  }
  for (const EnvironmentUse& use : question.uses)
    check.lookups.push_back({use.program, use.search_path, use.path, {}, {}, false});
  for (Prerequisites::Python& python : needed.pythons) {
    check.lookups.push_back({std::move(python.name), std::move(python.search_path), "",
                             std::move(python.command), std::move(python.env),
                             has_remote_nodes(plan)});
  }
  return question;
}

bool is_staged(const std::vector<std::string>& targets, const std::string& path) {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const std::string& target) { return sync::lies_in(path, target); });
}

void leave_out(const std::vector<std::string>& targets, PrerequisiteQuestion& question) {
  const auto is_copied = [&](const std::string& path) { return is_staged(targets, path); };
  wire::CheckPrerequisites& check = question.message;
  std::set<std::string> names;  // of programs of environments that are staged
  for (std::size_t i = question.uses.size(); i-- > 0;) {
    if (!is_copied(question.uses[i].path)) continue;
    names.insert(question.uses[i].program);
    question.uses.erase(question.uses.begin() + static_cast<std::ptrdiff_t>(i));
    check.lookups.erase(check.lookups.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const auto is_left_out = [&](const auto& program) {
    return names.contains(program.name) || is_copied(program.name);
  };
  std::erase_if(check.programs, is_left_out);
  std::erase_if(check.files, is_copied);
  std::erase_if(check.folders, is_copied);
  // The first lookups belong to `uses`, and stay.
  check.lookups.erase(
      std::remove_if(check.lookups.begin() + static_cast<std::ptrdiff_t>(question.uses.size()),
                     check.lookups.end(), is_left_out),
      check.lookups.end());
}

bool is_worth_asking(const PrerequisiteQuestion& question) {
  const wire::CheckPrerequisites& check = question.message;
  return check.programs.size() > 1 || !check.files.empty() || !check.lookups.empty();
}

std::string bin_of(const ActiveEnvironment& environment) {
  return environment.folder + "/bin";
}

std::string described(const FoundProgram& found) {
  return found.path + (found.version.empty() ? "" : " (Python " + found.version + ')');
}

std::string lost_environment(const EnvironmentUse& use, const FoundProgram& found,
                             const std::vector<std::string>& absent_folders) {
  if (found.path == use.path) return {};
  const std::string& folder = use.environment.folder;
  const bool is_absent = std::find(absent_folders.begin(), absent_folders.end(),
                                   bin_of(use.environment)) != absent_folders.end();
  std::string text = "the " + use.environment.kind + ' ' + folder + ", active here, ";
  if (is_absent) {
    text += "is not there";
  } else {
    text += "has no usable " + use.path.substr(folder.size() + 1) + " there";
    if (!found.broken.empty()) text += " (" + found.broken + ')';
  }
  return text + ": " + use.program +
         (found.path.empty() ? " would not be found" : " would be " + described(found));
}

std::vector<std::string> environment_advice(const ActiveEnvironment& environment,
                                            const std::string& node, const std::string& workdir,
                                            bool sync, bool stages) {
  const std::string folder = jobfile::shell_quote(environment.folder);
  const bool is_inside = environment.folder.starts_with(workdir + '/');
  std::string make =
      "python3 -m venv " + folder + " && " + folder + "/bin/pip install -r requirements.txt";
  if (environment.kind.starts_with("conda")) {
    make = "conda env create --prefix " + folder + " --file environment.yml";
  } else if (!environment.project.empty()) {
    make = "cd " + jobfile::shell_quote(environment.project) + " && uv sync";
  } else if (environment.by_uv) {
    make = "uv venv " + folder + " && uv pip install --python " + folder + " -r requirements.txt";
  }
  std::string item = "{from: ";
  append_json_string(item, environment.folder);
  item += '}';
  std::vector<std::string> lines = {
      "copy it there: " + (stages ? "add " + item + " to `stage`"
                                  : "--set " + jobfile::shell_quote("stage=[" + item + ']')),
      "or make it there at the same path (on " + node + ": " + make +
          "), keep it in a folder that all nodes share, or activate one in setup"};
  if (sync && is_inside)
    lines.emplace_back("sync: true copies nothing that a .gitignore file names");
  lines.emplace_back("to run with what the nodes have instead: --set active_env=optional");
  return lines;
}

}  // namespace dlaunch
