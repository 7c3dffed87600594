// Where the askpass processes of our ssh ask, and what passes their questions on to the front.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launch/connect/ask_place.h"
#include "launch/connect/prompt_queue.h"
#include "os/acceptor.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread. The socket has mode 0600, in a folder of its own with mode
/// 0700, and whoever is not of our user is turned away; both go away with the server.
class PromptServer {
 public:
  struct Callbacks {
    std::function<void(const Prompt&)> ask;  // answer() follows, or withdraw comes first
    std::function<void()> withdraw;
  };

  /// nullptr where nobody can be asked: no folder, or this program's own file is gone.
  [[nodiscard]] static std::unique_ptr<PromptServer> open(EventLoop& loop, Callbacks callbacks);
  PromptServer(const PromptServer&) = delete;
  PromptServer& operator=(const PromptServer&) = delete;

  /// What an ssh needs in its environment to ask here. `process`: another one for each ssh.
  [[nodiscard]] std::vector<std::string> environment(const std::string& process) const;
  /// What the user has typed; nullopt: nothing, and no more is wanted of this question.
  void answer(std::optional<std::string> text);
  [[nodiscard]] bool asking() const { return queue_.asking(); }

 private:
  PromptServer(EventLoop& loop, AskPlace place, std::string program, Callbacks callbacks);
  void let_in(UniqueFd fd);
  void watch_asker(std::uint64_t id);
  void read_asker(std::uint64_t id);
  void go_on();

  EventLoop& loop_;
  AskPlace place_;
  Acceptor acceptor_;
  std::string program_;
  Callbacks callbacks_;
  PromptQueue queue_;
  std::map<std::uint64_t, std::unique_ptr<WatchedFd>> askers_;
  std::uint64_t next_id_ = 1;
};

}  // namespace dlaunch
