// Receives the questions of askpass processes and forwards them to the front.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launch/connect/prompt_queue.h"
#include "launch/connect/prompt_socket.h"
#include "os/acceptor.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread. The socket has mode 0600 in a folder with mode 0700, and peers
/// of other users are refused.
class PromptServer {
 public:
  struct Callbacks {
    std::function<void(const Prompt&)> ask;  // answer() follows, unless withdraw is called first
    std::function<void()> withdraw;
  };

  /// nullptr if the user cannot be asked: no folder for the socket, or our program file is gone.
  [[nodiscard]] static std::unique_ptr<PromptServer> open(EventLoop& loop, Callbacks callbacks);
  PromptServer(const PromptServer&) = delete;
  PromptServer& operator=(const PromptServer&) = delete;

  /// The variables that make an ssh ask this server. `process`: a different name for each ssh.
  [[nodiscard]] std::vector<std::string> environment(const std::string& process) const;
  /// What the user typed; nullopt: refused.
  void answer(std::optional<std::string> text);
  [[nodiscard]] bool asking() const { return queue_.asking(); }

 private:
  PromptServer(EventLoop& loop, PromptSocket socket, std::string program, Callbacks callbacks);
  void let_in(UniqueFd fd);
  void watch_asker(std::uint64_t id);
  void read_asker(std::uint64_t id);
  void go_on();

  EventLoop& loop_;
  PromptSocket socket_;
  Acceptor acceptor_;
  std::string program_;
  Callbacks callbacks_;
  PromptQueue queue_;
  std::map<std::uint64_t, std::unique_ptr<WatchedFd>> askers_;
  std::uint64_t next_id_ = 1;
};

}  // namespace dlaunch
