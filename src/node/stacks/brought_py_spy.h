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
  /// nullopt: an earlier piece of the program was refused, and the answer to that piece said so.
  [[nodiscard]] std::optional<wire::PySpyTaken> take(const wire::PySpyData& data);
  /// Can be executed by this process and those that it forks; empty: not all of it is here.
  [[nodiscard]] std::string path() const;

 private:
  UniqueFd file_;
  bool is_refused_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace dlaunch
