// Messages of a measuring rank to the user.
#pragma once

#include <string>

namespace dlaunch::collectives {

/// Writes a line to stderr in one call, so that lines of several ranks do not mix.
void say(const std::string& line);

}  // namespace dlaunch::collectives
