// A connector brings an agent to a node; what comes back is a pair of descriptors that lead to it
// and the local process that stands for it (the guardian itself, or ssh, srun, kubectl).
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "model/ids.h"
#include "os/unique_fd.h"

namespace dlaunch {

struct Connection {
  UniqueFd read;
  UniqueFd write;
  pid_t process = 0;  // child of the engine; its end is the end of the connection
};

/// Forks without exec into guardian_main. Must be called before any thread exists in this process.
[[nodiscard]] Result<Connection> connect_local(NodeIndex node, std::uint64_t session,
                                               bool pid_namespace);

}  // namespace dlaunch
