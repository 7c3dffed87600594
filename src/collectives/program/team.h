// What all ranks of a measurement tell each other about it, over the communicator that they
// measure. Collective calls each; none is made while something is measured.
#pragma once

#include <string>
#include <vector>

#include "collectives/program/memory.h"
#include "dlaunch/collectives/communicator.h"

namespace dlaunch::collectives {

class Team {
 public:
  Team(Communicator& world, Memory& memory) : world_(world), memory_(memory) {}

  [[nodiscard]] Communicator& world() const { return world_; }
  [[nodiscard]] Memory& memory() const { return memory_; }
  [[nodiscard]] int rank() const { return world_.rank(); }
  [[nodiscard]] int size() const { return world_.size(); }

  /// All have come, and what was begun on the stream is over.
  Status barrier();
  /// Element by element, of as many at every rank; the same result at all.
  Result<std::vector<double>> max(const std::vector<double>& mine);
  Result<std::vector<double>> sum(const std::vector<double>& mine);
  /// Those of rank 0, then those of rank 1 ...; of as many at every rank.
  Result<std::vector<double>> gather(const std::vector<double>& mine);
  /// By rank. At most 127 bytes of each; what is longer is cut.
  Result<std::vector<std::string>> gather_text(const std::string& mine);

 private:
  Result<std::vector<double>> reduce(const std::vector<double>& mine, ReduceOp op);

  Communicator& world_;
  Memory& memory_;
};

}  // namespace dlaunch::collectives
