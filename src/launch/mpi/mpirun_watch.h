// mpirun as the launcher's engine sees it: when it is to be started, and what it has printed.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/launch_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// Of one attempt; a value. Without a plan that has mpirun, nothing happens.
class MpirunWatch {
 public:
  MpirunWatch() = default;
  explicit MpirunWatch(const LaunchPlan& plan);

  /// A node awaits its ranks. The message to node 0 when all do, once.
  [[nodiscard]] std::optional<wire::StartMpirun> awaited(NodeId node,
                                                         const wire::RanksAwaited& answer);
  /// The whole lines that have come with these bytes, without their ends and what a terminal would
  /// act on.
  [[nodiscard]] std::vector<std::string> add(const wire::MpirunOutput& output);
  /// A line without an end is whole when nothing comes any more.
  [[nodiscard]] std::vector<std::string> rest();
  /// The last lines, to explain its end.
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
