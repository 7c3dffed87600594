// What py-spy prints. Pure.
#pragma once

#include <string_view>

#include "model/stacks.h"

namespace dlaunch {

/// Adds the frames in the JSON of `py-spy dump --json`, which may follow lines of its log, to the
/// threads of that process; a thread
/// whose number py-spy does not know (Python before 3.11, but for the main thread) is added. False:
/// that is no such JSON.
[[nodiscard]] bool add_py_spy_output(std::string_view json, ProcessStack& process);

}  // namespace dlaunch
