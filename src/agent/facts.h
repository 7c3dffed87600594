// What this node has, and what is held on it for the coming attempt: ports and cores.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "os/core_locks.h"
#include "os/ports.h"
#include "wire/message.h"

namespace dlaunch {

class FactsService {
 public:
  /// Reads everything afresh and reserves the ports asked for; earlier reservations are given up,
  /// and no free port is one that an earlier call gave.
  [[nodiscard]] NodeFacts gather(const wire::FactsRequest& request);

  /// Gives a reserved port free, for the rank that is about to listen on it.
  void release_port(std::uint16_t port);
  /// A port that is held; null if it is not.
  [[nodiscard]] ReservedPort* held_port(std::uint16_t port);
  void release_all_ports() { ports_.clear(); }

  struct Cores {
    bool are_ours = true;
    std::string note;  // for the user; empty: all is well
  };
  /// Takes the cores for the attempt. They are not ours if another run was faster. If locks
  /// are not available, they are ours, and the note says why other runs are not seen.
  [[nodiscard]] Cores lock_cores(const std::vector<int>& cpus);
  void unlock_cores();

 private:
  void reserve(const wire::FactsRequest& request, NodeFacts& facts);
  [[nodiscard]] Result<ReservedPort> reserve_new_port();
  void mark_taken(std::vector<CpuCore>& cores);

  std::map<std::uint16_t, ReservedPort> ports_;
  std::set<std::uint16_t> given_;  // free ports of this and earlier attempts
  std::optional<CoreLocks> locks_;
  std::string no_locks_;  // why there are none
};

}  // namespace dlaunch
