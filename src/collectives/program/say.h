// What a measuring rank says to people: on stderr, a line each.
#pragma once

#include <string>

namespace dlaunch::collectives {

void say(const std::string& line);

}  // namespace dlaunch::collectives
