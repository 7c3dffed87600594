// The checks on all nodes between plan and start, and the messages about what is missing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/session/prerequisite_question.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// The answers of the nodes. A value; Preparation sends the questions and waits.
class MissingPrerequisites {
 public:
  MissingPrerequisites() = default;
  /// Expects an answer to each of `questions`, whose nodes are in the cluster. `sync`, `stages`:
  /// whether the job has these keys.
  MissingPrerequisites(const LaunchPlan& plan, const Cluster& cluster, bool sync, bool stages,
                       std::map<NodeId, PrerequisiteQuestion> questions);

  void add(NodeId node, const wire::PrerequisitesMissing& answer);
  /// All nodes have answered.
  [[nodiscard]] bool complete() const { return awaited_.empty(); }
  /// The nodes that have not answered: "gpu[02-04]".
  [[nodiscard]] std::string awaited() const;
  /// What is missing, each thing once with the nodes that lack it ("gpu[02-04]: ..."), in the order
  /// of the first nodes. exit_code::kNotFound if a program was not found, else kCannotExecute, as
  /// for a single rank (POSIX shell's rule). nullopt: nothing is missing.
  [[nodiscard]] std::optional<Error> error() const;
  /// What each node lacks, one line per item, without advice; or a line that it has not answered.
  [[nodiscard]] std::map<NodeId, std::vector<std::string>> by_node() const;
  /// Findings that do not stop the job but may make it fail, one sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// What `python` is for the ranks of a node: "/usr/bin/python3 (Python 3.11)"; empty: unknown.
  [[nodiscard]] std::string python_of(NodeId node) const;
  /// Whether `is` holds for the path of anything that is missing.
  [[nodiscard]] bool any_of(const std::function<bool(const std::string&)>& is) const;
  /// Whether a node has no folder where the workdir should be.
  [[nodiscard]] bool lacks_workdir() const { return lacks_workdir_; }

 private:
  struct Missing {
    std::string what;
    std::string search_path;
    int code = 0;
    std::set<NodeId> nodes;
    std::string path{};
    std::string advice{};
  };
  void note(NodeId node, Missing missing);
  [[nodiscard]] Missing failed(const StartFailure& failure) const;
  /// Returns the programs that are reported.
  std::set<std::string> add_environments(NodeId node, const wire::PrerequisitesMissing& answer);
  [[nodiscard]] std::string names_of(const std::set<NodeId>& nodes) const;
  [[nodiscard]] std::vector<std::string> version_notes() const;
  [[nodiscard]] std::vector<std::string> module_notes() const;

  std::map<NodeId, std::string> names_;
  std::string workdir_;
  std::vector<CommandPlan> commands_;
  bool sync_ = false;
  bool stages_ = false;
  bool is_one_machine_ = false;  // this one
  bool lacks_workdir_ = false;
  std::map<NodeId, PrerequisiteQuestion> questions_;
  Attempt attempt_;
  std::set<NodeId> awaited_;
  std::vector<Missing> missing_;
  std::vector<ActiveEnvironment> lost_;
  std::map<std::string, std::set<NodeId>> absent_folders_;
  std::map<NodeId, std::vector<FoundProgram>> found_;
};

}  // namespace dlaunch
