// Which of the signals that end a run are new ones. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "model/time.h"

namespace dlaunch {

/// Where a signal arrived: at the process that the user started, the one that runs the job, or a
/// step of Slurm on a node.
enum class CancelOrigin : std::uint8_t { front, engine, nodes };

class CancelOrigins {
 public:
  /// Whether this signal counts, given that a second one kills at once. A service manager that
  /// signals all processes of a job reaches several origins within a moment. And at a time limit or
  /// a scancel, slurmd signals the steps, and the batch script perhaps seconds later: the first
  /// SIGTERM from any other origin after the nodes' is the same one.
  [[nodiscard]] bool counts(CancelOrigin origin, int number, MonotonicTime now);
  /// Whether any arrived.
  [[nodiscard]] bool any() const;

 private:
  std::array<std::optional<MonotonicTime>, 3> at_;  // the last one; by CancelOrigin
};

}  // namespace dlaunch
