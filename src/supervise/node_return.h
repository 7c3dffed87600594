// The lost nodes that the next attempt needs: when each is tried again, and how long it is waited
// for (docs/restart.md). Pure: all times are given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/report.h"
#include "model/time.h"

namespace dlaunch {

/// A node passes through: noted as lost -> waited for, with one try after the other -> there again,
/// from where it may be lost and waited for once more, within the limit that began with the first
/// wait. forget_all() is the end of that.
class NodeReturns {
 public:
  /// `limit`: for each node. `try_limit`: what one try may take at most.
  NodeReturns(Duration limit, Duration try_limit) : limit_(limit), try_limit_(try_limit) {}

  struct Try {
    NodeIndex node;
    Duration within{};  // at least 1 ms
  };
  struct Waited {
    LostNode lost;           // as it was lost
    std::string last_words;  // of the last try; empty: none has failed
  };

  /// Nothing is tried before `fenced`: ranks may run there until then.
  void note_lost(LostNode lost, MonotonicTime fenced);
  /// Of a node that is noted. The limit begins, if it has not, when it may be tried first.
  void wait_for(NodeIndex node, MonotonicTime now);
  /// The try has failed; another one follows after a pause, unless the limit leaves no time for
  /// it: then the node is overdue. Pauses double from 0.5 s to 8 s; the last try begins 2 s before
  /// the limit at the latest.
  void try_failed(NodeIndex node, std::string last_words, MonotonicTime now);
  /// The try has succeeded.
  void came_back(NodeIndex node);
  [[nodiscard]] bool waits_for(NodeIndex node) const;
  [[nodiscard]] bool is_trying(NodeIndex node) const;

  /// Whose time has come; each is being tried from here on.
  [[nodiscard]] std::vector<Try> take_tries(MonotonicTime now);
  /// Waited for in vain, in the order of their numbers.
  [[nodiscard]] std::vector<Waited> overdue(MonotonicTime now) const;
  /// When take_tries() or overdue() may have something the next time.
  [[nodiscard]] std::optional<MonotonicTime> earliest() const;
  /// An attempt runs: what is lost from now on begins anew.
  void forget_all() { nodes_.clear(); }

 private:
  enum class State : std::uint8_t { noted, pausing, trying, there };
  struct Entry {
    State state = State::noted;
    Waited about;
    MonotonicTime fenced{};
    std::optional<MonotonicTime> due;  // once it was waited for
    MonotonicTime try_at{};            // while pausing
    Duration pause{};
  };
  [[nodiscard]] const Entry* find(NodeIndex node) const;
  [[nodiscard]] MonotonicTime last_chance(const Entry& entry) const;

  Duration limit_;
  Duration try_limit_;
  std::map<NodeIndex, Entry> nodes_;
};

}  // namespace dlaunch
