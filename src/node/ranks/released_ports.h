// Records the ports that were released for ranks of the attempt, and finds out whether another
// process has taken one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/cluster.h"
#include "model/ids.h"
#include "model/time.h"

namespace dlaunch {

/// Between the release of a port and the rank's listen(2), any process may bind it. This class
/// finds out afterwards, when a rank has failed.
class ReleasedPorts {
 public:
  struct Taken {
    Rank rank;  // the rank that should listen
    TakenPort port;
  };

  void clear() { *this = ReleasedPorts(); }
  void add(Rank rank, std::uint16_t port, MonotonicTime now) {
    ports_.push_back({rank, port, now});
  }

  /// A port on which a process that is not our descendant listens. At most one per attempt, and
  /// only within five minutes of its release: later failures have other causes. Reading /proc
  /// blocks the agent, so all calls of an attempt together do so for at most a fifth of a second.
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
