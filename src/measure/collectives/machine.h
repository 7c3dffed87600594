// Which machine this process runs on.
#ifndef DLAUNCH_COLLECTIVES_MACHINE_H
#define DLAUNCH_COLLECTIVES_MACHINE_H

#include <string>

namespace dlaunch::collectives {

/// Identifies the running kernel until it reboots (random(4), boot_id); all containers and
/// namespaces of a machine share it. 36 characters; empty if it cannot be read.
std::string machine();

}  // namespace dlaunch::collectives

#endif
