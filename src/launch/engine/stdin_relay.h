// The user's stdin on its way from the front to the rank that reads it: one piece at a time, so
// that what no rank has read stays with the user.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "model/ids.h"
#include "wire/message.h"

namespace dlaunch {

/// Owned by the engine; has no thread and no descriptor.
class StdinRelay {
 public:
  struct Callbacks {
    std::function<void()> ask_front;            // for another kStdinChunk bytes
    std::function<void(wire::StdinData)> send;  // to the node of the rank that reads stdin
  };
  explicit StdinRelay(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

  /// The ranks of this attempt were told to start. Input that arrived between two attempts goes to
  /// the new one; input that was sent to an earlier attempt is lost, read or not.
  void begin(Attempt attempt);
  /// The ranks of the attempt have ended.
  void end() { started_ = false; }
  /// From the front; empty: end of file.
  void add(std::string bytes);
  void taken(const wire::StdinTaken& taken);
  /// Sends Ctrl-C to the rank's own terminal. False: no attempt is running.
  [[nodiscard]] bool interrupt();

 private:
  void ask();
  void forward(std::string bytes);

  Callbacks callbacks_;
  std::deque<std::string> waiting_;  // until the rank has been told to start
  Attempt attempt_;
  std::uint64_t sent_ = 0;  // bytes to the rank in this attempt
  bool started_ = false;
  bool asked_ = false;  // the front may send a piece, or has sent everything
  bool ended_ = false;
};

}  // namespace dlaunch
