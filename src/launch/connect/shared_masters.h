// Where ssh finds the connections that it keeps for further runs (connect.persist): sockets in
// /tmp/dlaunch-UID, a folder that no other user may enter.
#pragma once

#include <set>
#include <string>

#include <sys/types.h>

namespace dlaunch {

/// The socket for connections with this key (node_targets.h). The path is short enough for ssh,
/// which first binds a longer name (unix(7), sun_path). Makes the folder; empty: there is none that
/// only this user may enter.
[[nodiscard]] std::string master_socket(const std::string& key);
[[nodiscard]] bool has_master(const std::string& socket);

/// The descendants of this process behind such sockets. They outlive the run that began them, so
/// a run must spare them when it ends what is left of it.
[[nodiscard]] std::set<pid_t> shared_masters();

}  // namespace dlaunch
