// What is said on a terminal while nodes are being connected: one line, which is drawn when it
// takes longer than a moment, and taken away afterwards.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "os/event_loop.h"

namespace dlaunch {

struct ConnectCounts {
  std::size_t connected = 0;
  std::size_t failed = 0;
  std::vector<std::string> waiting;  // names, in the order of the host list
};

/// "connected 37/64, waiting for gpu12, gpu40": at most `columns` of ASCII; names that do not fit
/// are counted ("and 12 more").
[[nodiscard]] std::string connect_progress_text(const ConnectCounts& counts, std::size_t columns);

/// Lives on the engine's one thread.
class ConnectProgress {
 public:
  /// `show`: the text of the line; empty: none.
  ConnectProgress(EventLoop& loop, std::function<void(std::string)> show);

  void waits_for(NodeIndex node, std::string name);
  /// The first word counts.
  void connected(NodeIndex node) { settle(node, State::connected); }
  void failed(NodeIndex node) { settle(node, State::failed); }
  /// Takes the line away and says nothing more.
  void end();
  /// Takes the line away until it is over: somebody else needs the screen.
  void hold(bool on);

 private:
  enum class State : std::uint8_t { none, waiting, connected, failed };
  void settle(NodeIndex node, State state);
  void draw();

  std::function<void(std::string)> show_;
  Timer timer_;
  std::vector<State> states_;
  std::vector<std::string> names_;
  bool ended_ = false;
  bool shown_ = false;  // the moment is over
  bool held_ = false;
};

}  // namespace dlaunch
