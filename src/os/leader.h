// What has become of the process that a rank began as.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace dlaunch {

/// True if the process still executes exactly this command: a shell that ends its script with a
/// plain command has become that command, and the children are then the user's (data loaders), not
/// ours.
[[nodiscard]] bool runs_command(pid_t pid, const std::vector<std::string>& argv);

/// SIGKILL to it and all that is below it now.
void kill_tree(pid_t root);

}  // namespace dlaunch
