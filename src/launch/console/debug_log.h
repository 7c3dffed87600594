// The log of dlaunch itself with -v: lines "dlaunch[engine]: ..." on stderr. Results and errors go
// through report/ instead. Set it up before any thread starts; debug, info and warn may be called
// from any thread.
#pragma once

#include <functional>
#include <string_view>

namespace dlaunch::debug_log {

/// 0, the default: nothing; 1 (-v): warn and info; 2 (-vv): debug too. `part` names the process:
/// "front", "engine", "agent".
void set_verbosity(int verbosity, std::string_view part = "engine");

/// Whole lines, newline included, go to `output` instead of stderr: a thread that must not wait for
/// a terminal hands them to its ConsoleWriter. An empty function: stderr again.
void set_output(std::function<void(std::string_view line)> output);

/// True when debug() writes anything: for messages that are expensive to build.
[[nodiscard]] bool wants_debug();

void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);

}  // namespace dlaunch::debug_log
