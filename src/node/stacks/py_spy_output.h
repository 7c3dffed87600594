// What py-spy prints. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "model/stacks.h"

namespace dlaunch {

/// Threads of a process by their numbers in its own PID namespace, which Python reports.
using ThreadNumbers = std::map<std::int64_t, std::int32_t>;

/// Adds the frames in the JSON of `py-spy dump --json`, which may follow lines of its log, to the
/// threads of that process. Adds a thread for one whose number py-spy does not report (before
/// Python 3.11, all but the main thread). Numbers that are not in `numbers` count as numbers in our
/// PID namespace. False: the text is not such JSON.
[[nodiscard]] bool add_py_spy_output(std::string_view json, ProcessStack& process,
                                     const ThreadNumbers& numbers = {});

}  // namespace dlaunch
