// The front: the process that the user's shell started. It owns the terminal, the signals, job
// control, the user's stdin and the exit code; everything else happens in the engine, which it
// forks.
#pragma once

#include <functional>

#include "os/unique_fd.h"

namespace dlaunch {

struct FrontOptions {
  bool forward_stdin = false;  // when the engine asks for it
  /// Once all ranks have started, print the id of the run and return kOk; the run goes on.
  bool detach = false;
  bool quiet = false;  // with detach: print only the id
  /// Ctrl-C is for the rank with a terminal of its own; twice within a second it ends the run.
  bool interrupts_rank = false;
  /// With detach: there is no run to report on.
  bool is_keeper = false;
};

/// Forks; the child leads its own session and exits with `engine(link)`. The parent forwards
/// signals (and stdin, when asked) and returns the engine's exit code. If the engine was killed, it
/// says so on stderr and in the run's summary.json. Must be called before any thread exists.
[[nodiscard]] int run_front(const std::function<int(UniqueFd link)>& engine,
                            const FrontOptions& options);

}  // namespace dlaunch
