// The line on a terminal while nodes are being connected; it appears after a second and is erased
// afterwards.
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
  /// `show` gets the text of the line; empty: no line.
  ConnectProgress(EventLoop& loop, std::function<void(std::string)> show);

  void waits_for(NodeId node, std::string name);
  /// Only the first report of a node counts.
  void connected(NodeId node) { settle(node, State::connected); }
  void failed(NodeId node) { settle(node, State::failed); }
  /// Erases the line for good.
  void end();
  /// Erases the line until hold(false): something else needs the screen.
  void hold(bool on);

 private:
  enum class State : std::uint8_t { none, waiting, connected, failed };
  void settle(NodeId node, State state);
  void draw();

  std::function<void(std::string)> show_;
  Timer timer_;
  std::vector<State> states_;
  std::vector<std::string> names_;
  bool ended_ = false;
  bool shown_ = false;  // kMoment has passed
  bool held_ = false;
};

}  // namespace dlaunch
