// The ports that were given free for ranks of the attempt, and whether a stranger has taken one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/cluster.h"
#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

/// Between the moment in which the agent lets go of a port and the one in which its rank listens
/// on it anybody may bind it. This finds out afterwards, when a rank has failed.
class ReleasedPorts {
 public:
  struct Taken {
    Rank rank;  // that was to listen
    TakenPort port;
  };

  void clear() { *this = ReleasedPorts(); }
  void add(Rank rank, std::uint16_t port, MonotonicTime now) {
    ports_.push_back({rank, port, now});
  }

  /// A port that a process other than our descendants listens on. One is found for an attempt, and
  /// only within five minutes of its release: later a failure has other reasons. Reads /proc, in
  /// all calls of an attempt together for a fifth of a second: the agent does nothing else
  /// meanwhile.
  [[nodiscard]] std::optional<Taken> find_taken(MonotonicTime now);

 private:
  struct Released {
    Rank rank;
    std::uint16_t port = 0;
    MonotonicTime at{};
  };
  std::vector<Released> ports_;
  MonotonicTime time_left_ = std::chrono::milliseconds(200);
};

}  // namespace dlaunch
