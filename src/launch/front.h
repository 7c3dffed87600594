// The front: the process that the user's shell started. It owns the terminal, the signals, job
// control, the user's stdin and the exit code; everything else happens in the engine, which it
// forks.
#pragma once

#include <functional>

#include "os/unique_fd.h"

namespace dlaunch {

/// Forks; the child becomes a session of its own and returns `engine(link)` as its exit code. The
/// parent passes signals (and stdin, when `forward_stdin`) on and returns the engine's exit code.
/// Must be called before any thread exists.
[[nodiscard]] int run_front(const std::function<int(UniqueFd link)>& engine, bool forward_stdin);

}  // namespace dlaunch
