// `dlaunch status --watch`: draws the state of a run on the terminal again and again.
#pragma once

#include "launch/questions/question_socket.h"

namespace dlaunch {

struct StatusScreenEnd {
  bool run_has_ended = false;
  int exit_code = 0;  // if the run has not ended: 0 for q, 128 + n for a signal
};

/// Returns at q, a signal or the end of the run. Standard input and output must be the terminal;
/// its mode is restored at every end but SIGKILL, and while Ctrl-Z stops us. Blocks signals for
/// good, so call it only from a process with one thread.
[[nodiscard]] StatusScreenEnd show_status_screen(QuestionLine line);

}  // namespace dlaunch
