// The launcher's py-spy, for a node that has none: a file in memory, which vanishes with the agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/unique_fd.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class BroughtPySpy {
 public:
  /// Takes the next piece of the program. nullopt: an earlier piece was refused, as the answer to
  /// it said.
  [[nodiscard]] std::optional<wire::PySpyTaken> take(const wire::PySpyData& data);
  /// A path by which this process and its forks can execute it; empty: it has not arrived
  /// completely.
  [[nodiscard]] std::string path() const;

 private:
  UniqueFd file_;
  bool is_refused_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace dlaunch
