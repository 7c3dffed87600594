// The `dlaunch up` that has started the keeper: it waits until all nodes are connected, and has the
// terminal on which ssh's questions are asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launch/connect/node_connector.h"
#include "launch/connect/prompt_server.h"
#include "os/event_loop.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the loop's one thread.
class KeeperFront {
 public:
  /// `on_end`: the user wants the keeper to end with this exit code, or the front is gone.
  KeeperFront(EventLoop& loop, UniqueFd link, NodeConnector& connector,
              std::function<void(int)> on_end);

  /// From now on ssh may ask, until started().
  void open_prompts();
  /// Makes the front take back a question that it shows.
  void withdraw();
  /// All nodes are connected: the front ends.
  void started();

 private:
  void watch();
  void read();
  void ask(const Prompt& prompt);
  void answer(std::optional<std::string> text);

  EventLoop& loop_;
  WatchedFd link_;
  NodeConnector& connector_;
  const std::function<void(int)> on_end_;
  std::unique_ptr<PromptServer> prompts_;
  bool handed_over_ = false;
};

}  // namespace dlaunch
