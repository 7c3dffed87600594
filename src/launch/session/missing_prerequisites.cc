#include "launch/session/missing_prerequisites.h"

#include <algorithm>
#include <cerrno>

#include "jobfile/hostlist.h"
#include "model/python.h"
#include "report/failure_words.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr const char* kIndent = "\n         ";

}  // namespace

MissingPrerequisites::MissingPrerequisites(const LaunchPlan& plan, const Cluster& cluster,
                                           bool sync, bool stages,
                                           std::map<NodeId, PrerequisiteQuestion> questions)
    : workdir_(plan.workdir),
      commands_(plan.commands),
      sync_(sync),
      stages_(stages),
      questions_(std::move(questions)),
      attempt_(plan.attempt) {
  for (const auto& [id, question] : questions_) {
    const Node& node = *cluster.find(id);
    names_.emplace(id, node.name);
    awaited_.insert(id);
    is_one_machine_ = questions_.size() == 1 && node.is_launcher;
    if (const std::string& refused = node.facts.output_refused; !refused.empty())
      note(id, {"no folder for the output of ranks: " + plain_line(refused),
                "",
                exit_code::kCannotExecute,
                {}});
  }
}

void MissingPrerequisites::add(NodeId node, const wire::PrerequisitesMissing& answer) {
  if (answer.attempt != attempt_ || awaited_.erase(node) == 0) return;
  const std::set<std::string> lost = add_environments(node, answer);
  for (const StartFailure& failure : answer.missing) {
    if (failure.step == StartFailure::Step::execute && lost.contains(failure.path)) continue;
    lacks_workdir_ = lacks_workdir_ || (failure.step == StartFailure::Step::workdir &&
                                        failure.error_number == ENOENT);
    note(node, failed(failure));
  }
  found_[node] = answer.found;
}

MissingPrerequisites::Missing MissingPrerequisites::failed(const StartFailure& failure) const {
  std::string what = plain_line(describe(failure));
  if (failure.step == StartFailure::Step::workdir && !is_one_machine_)
    what += " (it must exist on every node)";
  return {
      std::move(what), failure.search_path,
      failure.code(),  {},
      failure.path,    failure.near.empty() ? script_advice(failure, commands_) : std::string()};
}

std::set<std::string> MissingPrerequisites::add_environments(
    NodeId node, const wire::PrerequisitesMissing& answer) {
  std::set<std::string> programs;
  std::set<std::string> told;  // environments: report one program of each
  const std::vector<EnvironmentUse>& uses = questions_.at(node).uses;
  for (std::size_t i = 0; i < uses.size() && i < answer.found.size(); ++i) {
    const std::string what = lost_environment(uses[i], answer.found[i], answer.folders);
    if (what.empty()) continue;
    programs.insert(uses[i].program);
    if (std::find(lost_.begin(), lost_.end(), uses[i].environment) == lost_.end())
      lost_.push_back(uses[i].environment);
    if (told.insert(uses[i].environment.folder).second)
      note(node, {plain_line(what), "", exit_code::kCannotExecute, {}});
  }
  for (const std::string& folder : answer.folders) {
    const bool is_used = std::any_of(uses.begin(), uses.end(), [&](const EnvironmentUse& use) {
      return bin_of(use.environment) == folder;
    });
    if (!is_used) absent_folders_[folder.substr(0, folder.rfind('/'))].insert(node);
  }
  return programs;
}

void MissingPrerequisites::note(NodeId node, Missing missing) {
  auto known = std::find_if(missing_.begin(), missing_.end(), [&](const Missing& other) {
    return other.what == missing.what && other.search_path == missing.search_path;
  });
  if (known == missing_.end()) known = missing_.insert(known, std::move(missing));
  known->nodes.insert(node);
}

std::string MissingPrerequisites::names_of(const std::set<NodeId>& nodes) const {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodeId node : nodes) names.push_back(names_.at(node));
  return jobfile::compress_hostlist(names);
}

std::string MissingPrerequisites::awaited() const {
  return names_of(awaited_);
}

bool MissingPrerequisites::any_of(const std::function<bool(const std::string&)>& is) const {
  return std::any_of(missing_.begin(), missing_.end(),
                     [&](const Missing& one) { return !one.path.empty() && is(one.path); });
}

std::optional<Error> MissingPrerequisites::error() const {
  if (missing_.empty()) return std::nullopt;
  int code = 0;
  std::string text;
  std::vector<Missing> sorted = missing_;  // answers arrive in any order
  std::stable_sort(sorted.begin(), sorted.end(), [](const Missing& a, const Missing& b) {
    return *a.nodes.begin() < *b.nodes.begin();
  });
  for (const Missing& missing : sorted) {
    code = std::max(code, missing.code);
    text += text.empty() ? "" : kIndent;
    text += (is_one_machine_ ? "" : names_of(missing.nodes) + ": ") + missing.what;
    if (!missing.search_path.empty())
      text += std::string(kIndent) + (is_one_machine_ ? "PATH: " : "PATH there: ") +
              plain_line(missing.search_path);
    if (!missing.advice.empty()) text += kIndent + missing.advice;
  }
  if (missing_.size() > 1)
    text = std::string("nothing was started because of these problems:") + kIndent + text;
  for (const ActiveEnvironment& environment : lost_) {
    const std::string& first = names_.at(*sorted.front().nodes.begin());
    for (const std::string& line :
         environment_advice(environment, first, workdir_, sync_, stages_)) {
      if (text.find(line) == std::string::npos) text += kIndent + plain_line(line);
    }
  }
  return Error{code, std::move(text)};
}

std::map<NodeId, std::vector<std::string>> MissingPrerequisites::by_node() const {
  std::map<NodeId, std::vector<std::string>> lines;
  for (const Missing& missing : missing_) {
    for (const NodeId node : missing.nodes) lines[node].push_back(missing.what);
  }
  for (const NodeId node : awaited_)
    lines[node].emplace_back("it did not answer the check for what the ranks need");
  return lines;
}

std::vector<std::string> MissingPrerequisites::notes() const {
  std::vector<std::string> notes = version_notes();
  for (std::string& note : module_notes()) notes.push_back(std::move(note));
  for (const auto& [folder, nodes] : absent_folders_) {
    notes.push_back(plain_line("the environment " + folder + ", active here, is not on " +
                               names_of(nodes) + "; this job does not seem to use it"));
  }
  return notes;
}

std::vector<std::string> MissingPrerequisites::version_notes() const {
  std::map<std::string, std::map<std::string, std::set<NodeId>>> versions;  // by name, release
  for (const auto& [node, found] : found_) {
    const auto& lookups = questions_.at(node).message.lookups;
    for (std::size_t i = 0; i < lookups.size() && i < found.size(); ++i) {
      if (!found[i].version.empty())
        versions[lookups[i].name][python_release(found[i].version)].insert(node);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [name, by_release] : versions) {
    if (by_release.size() < 2) continue;
    std::string text;
    for (const auto& [release, nodes] : by_release)
      text += (text.empty() ? name + " is Python " : ", ") + release + " on " + names_of(nodes);
    notes.push_back(plain_line(text));
  }
  return notes;
}

/// Modules that one node lacks and another has. If all lack a module, it may be found elsewhere.
std::vector<std::string> MissingPrerequisites::module_notes() const {
  std::map<std::string, std::set<NodeId>> have;
  std::map<std::pair<std::string, std::string>, std::set<NodeId>> lack;  // module, Python
  for (const auto& [node, found] : found_) {
    for (const FoundProgram& program : found) {
      for (const std::string& module : program.imports) have[module].insert(node);
      for (const std::string& module : program.absent) lack[{module, program.path}].insert(node);
    }
  }
  std::vector<std::string> notes;
  for (const auto& [what, nodes] : lack) {
    const auto other = have.find(what.first);
    if (other == have.end()) continue;
    notes.push_back(plain_line(names_of(nodes) + ": no module \"" + what.first +
                               "\" was found for " + what.second + "; " + names_of(other->second) +
                               (other->second.size() == 1 ? " has it" : " have it")));
  }
  return notes;
}

std::string MissingPrerequisites::python_of(NodeId node) const {
  const auto found = found_.find(node);
  if (found == found_.end()) return {};
  const auto& lookups = questions_.at(node).message.lookups;
  for (std::size_t i = 0; i < lookups.size() && i < found->second.size(); ++i) {
    if (lookups[i].python != PythonCommand{} && !found->second[i].path.empty())
      return described(found->second[i]);
  }
  return {};
}

}  // namespace dlaunch
