// What `dlaunch run --detach` needs of the engine: to let go of the terminal of its caller once all
// ranks have started. Everything that the engine says later goes to a file of the run folder.
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class HandOver {
 public:
  explicit HandOver(bool wanted) : wanted_(wanted) {}

  /// Before the agents are forked: they get a file in memory for stderr instead of the caller's,
  /// which a pipe of `$(...)` or an SSH session would wait for. Undone by agents_forked().
  void before_fork();
  void agents_forked();

  /// One more rank of `attempt`, which has `ranks`, has started. True, once, when all of them have:
  /// then comes let_go().
  [[nodiscard]] bool rank_started(Attempt attempt, std::size_t ranks);
  /// Points stdout and stderr to `file` (0600, appended to).
  [[nodiscard]] Status let_go(const std::string& file);

  /// The front has said that its end means nothing any more.
  void accept() { accepted_ = true; }
  [[nodiscard]] bool accepted() const { return accepted_; }

  /// What the agents wrote to stderr: nothing, but for faults of theirs.
  [[nodiscard]] std::string agent_errors() const;

 private:
  bool wanted_;
  bool accepted_ = false;
  Attempt attempt_;
  std::size_t started_ = 0;  // ranks of that attempt
  UniqueFd agent_stderr_;
  UniqueFd own_stderr_;
};

}  // namespace dlaunch
