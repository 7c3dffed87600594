// Collective calls by which the ranks of a measurement exchange results, over the communicator that
// they measure; none is made during a measurement.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/collectives/communicator.h"
#include "measure/collectives/program/memory.h"

namespace dlaunch::collectives {

class Team {
 public:
  Team(Communicator& world, Memory& memory) : world_(world), memory_(memory) {}

  [[nodiscard]] Communicator& world() const { return world_; }
  [[nodiscard]] Memory& memory() const { return memory_; }
  [[nodiscard]] int rank() const { return world_.rank(); }
  [[nodiscard]] int size() const { return world_.size(); }

  /// Returns once all ranks have called it and the stream is idle.
  Status barrier();
  /// Element by element; every rank passes the same number of values and gets the same result.
  Result<std::vector<double>> max(const std::vector<double>& mine);
  Result<std::vector<double>> sum(const std::vector<double>& mine);
  /// The values of rank 0, then of rank 1, ...; every rank passes the same number.
  Result<std::vector<double>> gather(const std::vector<double>& mine);
  /// The texts of all ranks, by rank. Longer texts are cut to 127 bytes.
  Result<std::vector<std::string>> gather_text(const std::string& mine);

 private:
  Result<std::vector<double>> reduce(const std::vector<double>& mine, ReduceOp op);

  Communicator& world_;
  Memory& memory_;
};

}  // namespace dlaunch::collectives
