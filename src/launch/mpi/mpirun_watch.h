// mpirun as the launcher's engine sees it: when to start it, and what it has printed.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/launch_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// Watches the mpirun of one attempt; a value. If the plan has no mpirun, nothing happens.
class MpirunWatch {
 public:
  MpirunWatch() = default;
  explicit MpirunWatch(const LaunchPlan& plan);

  /// A node awaits its ranks. Returns the message to node 0 once, when all do.
  [[nodiscard]] std::optional<wire::StartMpirun> awaited(NodeId node,
                                                         const wire::RanksAwaited& answer);
  /// The whole lines that these bytes complete, without their ends and without what a terminal
  /// would interpret.
  [[nodiscard]] std::vector<std::string> add(const wire::MpirunOutput& output);
  /// The last line without an end, when no more output will arrive.
  [[nodiscard]] std::vector<std::string> rest();
  /// The last lines, to explain the end of mpirun.
  [[nodiscard]] std::string said() const;

 private:
  void keep(const std::string& line);

  Attempt attempt_;
  std::optional<MpirunPlan> mpirun_;
  std::set<NodeId> to_come_;
  std::string partial_;
  std::deque<std::string> last_;
};

}  // namespace dlaunch
