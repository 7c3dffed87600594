// The seam between deciding and doing: run_job asks the supervisor and performs its actions through
// an Engine. Tests use a scripted Engine.
#pragma once

#include <optional>

#include "model/action.h"
#include "model/event.h"
#include "model/result.h"
#include "model/time.h"

namespace dlaunch {

class Engine {
 public:
  virtual ~Engine() = default;
  /// Waits for the next event, at most until `deadline` (then event::Tick). An error ends the
  /// launcher.
  [[nodiscard]] virtual Result<Event> wait(std::optional<MonotonicTime> deadline) = 0;
  /// Called after the supervisor has seen the event. Whatever else the event requires without a
  /// decision (output, the user's view, the record) happens here, before the supervisor's actions.
  virtual void tell(const Event& event) = 0;
  /// Begins an action; never blocks.
  [[nodiscard]] virtual Status perform(const Action& action) = 0;
  [[nodiscard]] virtual MonotonicTime now() const = 0;
};

}  // namespace dlaunch
