// Sets the name that ps(1) and top(1) show for a dlaunch process.
#pragma once

#include <string>

namespace dlaunch {

/// The name ("dlaunch-engine" of "dlaunch: engine ID") and the command line of this process. The
/// command line is cut where arguments and environment at the start had no room for it. Moves the
/// strings of `environ`, so not while another thread looks at them, and what getenv(3) returned
/// before is no longer valid.
void set_process_title(const std::string& title);

}  // namespace dlaunch
