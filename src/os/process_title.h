// Sets the name that ps(1) and top(1) show for a dlaunch process.
#pragma once

#include <string>

namespace dlaunch {

/// Sets the command line of this process ("dlaunch: engine ID"), cut to the room that arguments and
/// environment had at the start, and its name ("dlaunch-engine"). Moves the strings of `environ`:
/// no other thread may read them, and earlier results of getenv(3) become invalid.
void set_process_title(const std::string& title);

}  // namespace dlaunch
