// A connector brings an agent to a node; what comes back is a pair of descriptors that lead to it
// and the local process that stands for it (the guardian itself, or ssh, srun, kubectl).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <sys/types.h>

#include "model/ids.h"
#include "os/unique_fd.h"

namespace dlaunch {

struct Connection {
  UniqueFd read;
  UniqueFd write;
  pid_t process = 0;  // child of the engine; its end is the end of the connection
  /// What was read behind the agent's marker: the first bytes of the channel.
  std::string early = {};
  /// The process is ssh or the like, and the guardian is its remote command: the process can be
  /// ended without ending anything there but the channel.
  bool remote = false;
  /// Of a remote one: why the connection ended, from the wait status of `process` and what it
  /// said; empty when it cannot tell more than the agent's exit code. May be called once the
  /// process has ended.
  std::function<std::string(int wait_status)> last_words = {};
};

/// The process whose end is the end of the run, beside the caller's own.
struct AttachedFront {
  pid_t pid = 0;  // 0: there is none
  std::chrono::milliseconds stop_grace{0};
};

/// Forks without exec into guardian_main. Must be called before any thread exists in this process.
[[nodiscard]] Result<Connection> connect_local(NodeIndex node, std::uint64_t session,
                                               bool pid_namespace, const AttachedFront& front);

}  // namespace dlaunch
