// Where a rank, or each of its workers, is in its program, and whether it has moved since an
// earlier snapshot. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/stacks.h"

namespace dlaunch {

struct Standing {
  /// What holds up the rank; the most informative reasons come first.
  enum class Why : std::uint8_t {
    stopped,      // by a signal or a debugger
    ended,        // or not started
    dead_loader,  // it waits for processes that have ended
    deadlock,     // two of its threads wait for locks
    blocked,      // in a call on a file system
    loader,       // it waits for its own processes that load data
    starved,      // it gets no CPU time; while it waits for other ranks, judge() decides that
    elsewhere,    // anywhere else
    ranks,        // it waits for other ranks
  };
  Rank rank;
  std::string host;
  std::int32_t worker = 0;  // the pid of the rank's worker that stands here; 0: the rank itself
  Why why = Why::elsewhere;
  bool has_moved = false;
  bool is_busy = false;   // it uses the CPU
  bool lacks_cpu = false;  // it waited for a CPU most of the time
  bool may_be_many = false;  // the wait may be many short ones: it spins, or waits for a device
  bool waits_for_peer = false;  // for a message of one rank, not for all of a group
  std::string operation;  // the known function in which the rank waits: "all_reduce"; empty: none
  std::string place;      // in the user's code: "train.py:41"; empty: unknown
  std::string function;   // of that place
  std::string path;       // of that place's file, with its line; empty: as `place`
  std::string detail;     // "reading /mnt/nfs/x"; empty: unknown
  std::vector<std::string> unanswered;  // as RankStacks::unanswered
};

/// Of the process that does the rank's work; or, if that process supervises workers (torchrun), of
/// each of them: of its children at least one waits for other ranks, and the others run the same
/// command, apart from numbers, or had the same program and have ended unreaped. If the process is
/// in the user's code, it does not only supervise: its own standing follows, and children that have
/// ended do not count.
[[nodiscard]] std::vector<Standing> standings_of(const RankStacks& before, const RankStacks& now);

}  // namespace dlaunch
