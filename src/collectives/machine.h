// Which machine this process runs on.
#ifndef DLAUNCH_COLLECTIVES_MACHINE_H
#define DLAUNCH_COLLECTIVES_MACHINE_H

#include <string>

namespace dlaunch::collectives {

/// Of the running kernel, until it boots again (random(4), boot_id): containers and namespaces of
/// one machine have the same. 36 characters; empty where it cannot be read.
std::string machine();

}  // namespace dlaunch::collectives

#endif
