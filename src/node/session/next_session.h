// What an agent does between two sessions over one connection: it waits for the Hello of the next
// session.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "node/session/session_socket.h"
#include "os/channel.h"

namespace dlaunch {

enum class NextFrame {
  incomplete,  // more bytes are needed
  hello,       // the first bytes are those of the next session's Hello
  other,       // something else: the connection cannot be used any more
};

/// Removes from `bytes` the frames of the last session, which its launcher sent before it read our
/// Bye. Sets `next` with `hello`. Pure.
[[nodiscard]] NextFrame look_for_hello(std::string& bytes, SessionId last, SessionId& next);

/// Blocks; calls `beat` at least every `every`. The bytes read, from the Hello on, stay in
/// `connection.early`. nullopt: the connection or the guardian has ended, or no Hello arrived
/// within the limit.
[[nodiscard]] std::optional<SessionId> wait_for_session(LeftConnection& connection, SessionId last,
                                                        const UniqueFd& guardian_pidfd,
                                                        std::chrono::milliseconds limit,
                                                        std::chrono::milliseconds every,
                                                        const std::function<void()>& beat);

}  // namespace dlaunch
