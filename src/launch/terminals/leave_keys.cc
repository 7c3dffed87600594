#include "launch/terminals/leave_keys.h"

#include <utility>

namespace dlaunch {

LeaveKeys::Typed LeaveKeys::take(std::string_view bytes) {
  Typed typed;
  for (const char key : bytes) {
    const bool was_held = std::exchange(held_, false);
    if (was_held && key == '.') {
      typed.leaves = true;
      return typed;
    }
    if (key == '~' && at_line_start_ && !was_held) {
      held_ = true;
      continue;
    }
    if (was_held && key != '~') typed.bytes += '~';
    typed.bytes += key;
    // Enter is a carriage return in raw mode.
    at_line_start_ = key == '\r' || key == '\n';
  }
  return typed;
}

}  // namespace dlaunch
