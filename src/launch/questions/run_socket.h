// Sockets in the run folder at which the engine of a run hears other processes of its user. They
// have mode 0600 in a folder of mode 0700, and peers with another user id are refused.
#pragma once

#include <string>

#include "model/result.h"
#include "os/unique_fd.h"
#include "runs/run_view.h"

namespace dlaunch {

/// Makes a listening socket. `type`: SOCK_STREAM or SOCK_SEQPACKET. Errors: the file system takes
/// no sockets, or is read-only.
[[nodiscard]] Result<UniqueFd> open_run_socket(const std::string& run_folder, const char* name,
                                               int type);

/// Connects to the engine of the run, which must be on this machine. Errors: kUsage: the run has
/// ended, or has no such socket; kNodeLost: it runs on another machine; kNoPermission: it belongs
/// to another user; kTimeLimit: its launcher is stopped.
[[nodiscard]] Result<UniqueFd> connect_to_run(const RunView& run, const char* name, int type);

/// A connection to the engine of a run. Needs no file system any more.
struct RunConnection {
  std::string id;
  std::string path;  // of the run folder, as it was asked for
  UniqueFd socket;
};

}  // namespace dlaunch
