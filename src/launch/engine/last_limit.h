// The time by which a run that was told to end must have ended, whatever the supervisor does. The
// supervisor keeps these limits itself; this is for the case that the supervisor has a bug. Pure.
#pragma once

#include <optional>

#include "model/event.h"
#include "model/time.h"

namespace dlaunch {

/// The supervisor's own limits.
struct EndLimits {
  Duration stop_grace{};  // from the first cancel to SIGKILL
  Duration end_limit{};   // from SIGKILL to the end
};

class LastLimit {
 public:
  explicit LastLimit(EndLimits limits) : limits_(limits) {}

  /// A cancel, or the end of the front, starts or shortens the time; other events do not matter.
  void note(const Event& event, MonotonicTime now);
  /// nullopt: the run was not told to end.
  [[nodiscard]] std::optional<MonotonicTime> due() const { return due_; }
  /// Call after the supervisor has run. The first call after `due` returns false and postpones
  /// `due`: if the launcher itself was stopped (SIGSTOP), its supervisor gets the time once more.
  [[nodiscard]] bool is_over(MonotonicTime now);

 private:
  EndLimits limits_;
  std::optional<MonotonicTime> due_;
  bool extended_ = false;
};

}  // namespace dlaunch
