// Gathers the facts of this node, and reserves ports and cores for the next attempt.
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
  /// Reads all facts and reserves the requested ports; releases earlier reservations. Never returns
  /// a free port that an earlier call has returned.
  [[nodiscard]] NodeFacts gather(const wire::FactsRequest& request);

  /// Releases a reserved port for the rank that is about to listen on it.
  void release_port(std::uint16_t port);
  /// Null if the port is not reserved.
  [[nodiscard]] ReservedPort* held_port(std::uint16_t port);
  void release_all_ports() { ports_.clear(); }

  struct Cores {
    bool are_ours = true;
    std::string note;  // for the user; may be empty
  };
  /// Takes the cores for the attempt. `are_ours` is false if another run took them first. If locks
  /// cannot be used, it is true, and the note says why other runs cannot be seen.
  [[nodiscard]] Cores lock_cores(const std::vector<int>& cpus);
  void unlock_cores();

 private:
  void reserve(const wire::FactsRequest& request, NodeFacts& facts);
  [[nodiscard]] Result<ReservedPort> reserve_new_port();
  void mark_taken(std::vector<CpuCore>& cores);

  std::map<std::uint16_t, ReservedPort> ports_;
  std::set<std::uint16_t> given_;  // free ports returned so far
  std::optional<CoreLocks> locks_;
  std::string no_locks_;  // why there are no locks
};

}  // namespace dlaunch
