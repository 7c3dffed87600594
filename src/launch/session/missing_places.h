// The checks on all nodes between plan and start: what is asked, and what is said when something is
// missing.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// Whether there is anything to ask: ranks elsewhere than on the launcher's own machine. There the
/// errors of exec say the same, and nothing else has been started that would have to be stopped.
[[nodiscard]] bool needs_place_check(const LaunchPlan& plan);

[[nodiscard]] wire::CheckPlaces check_message(const JobSpec& spec, const LaunchPlan& plan,
                                              NodeIndex node);

/// The answers of all nodes of one plan. A value; the engine asks and waits.
class MissingPlaces {
 public:
  MissingPlaces() = default;
  /// Waits for an answer of every node of the plan.
  MissingPlaces(const LaunchPlan& plan, const Cluster& cluster);

  void add(NodeIndex node, const wire::PlacesMissing& answer);
  /// All have answered.
  [[nodiscard]] bool complete() const { return awaited_.empty(); }
  /// Who has not: "gpu[02-04]".
  [[nodiscard]] std::string awaited() const;
  /// What is missing, each thing once with the nodes that miss it ("gpu[02-04]: ..."), in the order
  /// of the first nodes. exit_code::kNotFound when a program is nowhere, else kCannotExecute, as
  /// for a single rank (POSIX shell's rule). nullopt: nothing is.
  [[nodiscard]] std::optional<Error> error() const;
  /// Whether `is` holds for the path of anything that is missing.
  [[nodiscard]] bool any_of(const std::function<bool(const std::string&)>& is) const;

 private:
  struct Missing {
    std::string what;
    std::string search_path;
    int code = 0;
    std::set<NodeIndex> nodes;
    std::string path{};
  };
  void note(NodeIndex node, Missing missing);

  std::vector<std::string> names_;  // by node
  Attempt attempt_;
  std::set<NodeIndex> awaited_;
  std::vector<Missing> missing_;
};

}  // namespace dlaunch
