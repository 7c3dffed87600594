// What dlaunch says about its own doings when asked with -v: lines "dlaunch[engine]: ..." on
// stderr. Not for results and errors, which have their places in report/. Set up before any thread
// starts; debug, info and warn may be called from any thread.
#pragma once

#include <functional>
#include <string_view>

namespace dlaunch::diagnostics {

/// 0: nothing, as at the start; 1 (-v): warn and info; 2 (-vv): debug too. `part` is the process
/// that speaks: "front", "engine", "agent".
void set_verbosity(int verbosity, std::string_view part = "engine");

/// Where whole lines go, newline included, instead of stderr: a thread that must not wait for a
/// terminal hands them to its ConsoleWriter. An empty function: stderr again.
void set_output(std::function<void(std::string_view line)> output);

/// True when debug() says anything: for messages that cost something to put together.
[[nodiscard]] bool wants_debug();

void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);

}  // namespace dlaunch::diagnostics
