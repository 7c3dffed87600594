// Where ssh finds the connections that it keeps for further runs (connect.persist): sockets in
// /tmp/dlaunch-UID, a folder that no other user may enter.
#pragma once

#include <set>
#include <string>

#include <sys/types.h>

namespace dlaunch {

/// The socket for connections with this key (node_targets.h). The path is short enough for ssh,
/// which first binds a longer name (unix(7), sun_path). Makes the folder. Empty: there is no folder
/// that only this user may enter.
[[nodiscard]] std::string master_socket(const std::string& key);
[[nodiscard]] bool has_master(const std::string& socket);

/// The descendants of this process that own such sockets. They outlive the run that began them, so
/// a run must spare them when it ends its remaining processes.
[[nodiscard]] std::set<pid_t> shared_masters();

}  // namespace dlaunch
