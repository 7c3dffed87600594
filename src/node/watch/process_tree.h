// The processes of a rank, looked at repeatedly at little cost. Reads only files of /proc that do
// not wait for a lock of the process: stat, io, status, schedstat and children.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "model/pulse.h"
#include "node/watch/proc_text.h"

namespace dlaunch {

/// What one look reads beyond the stat file of each known process.
enum class Depth {
  brief,
  counters,  // also input, output and context switches, and children of main threads
  whole,     // also children of all other threads; a process may have hundreds of threads
};

class ProcessTree {
 public:
  /// `root`: the rank's first process.
  explicit ProcessTree(pid_t root) : root_(root), known_{Known{root}} {}
  [[nodiscard]] pid_t root() const { return root_; }

  /// Fills in what /proc says about the rank.
  void look(Depth depth, RankPulse& rank);

  /// The longest time that the main thread of any of the processes had to wait for a CPU since the
  /// last call, because other processes had the CPU or a limit did not allow it.
  [[nodiscard]] std::chrono::nanoseconds waited();

 private:
  struct Known {
    pid_t pid = 0;
    ProcessStat stat{};
    std::uint64_t io = 0;
    std::uint64_t switches = 0;
    std::uint64_t waited = 0;
    bool is_new = true;
  };

  [[nodiscard]] static bool read(Known& process, Depth depth);
  void find_children(Depth depth);

  pid_t root_;
  std::vector<Known> known_;  // those that live, the root first
  RisingTotal ticks_;
  RisingTotal io_;
  RisingTotal switches_;
};

}  // namespace dlaunch
