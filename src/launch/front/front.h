// The front: the process that the user's shell started. It owns the terminal, the signals, job
// control, the user's stdin and the exit code; everything else happens in the engine, which it
// forks.
#pragma once

#include <functional>

#include "os/unique_fd.h"

namespace dlaunch {

struct FrontOptions {
  bool forward_stdin = false;  // as far as the engine asks for it
  /// Once all ranks have started, print the id of the run and return kOk; the run goes on.
  bool detach = false;
  bool quiet = false;  // of detach: nothing but the id
};

/// Forks; the child becomes a session of its own and returns `engine(link)` as its exit code. The
/// parent passes signals (and stdin, when asked) on and returns the engine's exit code. An engine
/// that was killed is told of on stderr and in the run's summary.json. Must be called before any
/// thread exists.
[[nodiscard]] int run_front(const std::function<int(UniqueFd link)>& engine,
                            const FrontOptions& options);

}  // namespace dlaunch
