// Looks in what condition this node is. What it asks may hang (a file system, a driver), so a
// process of its own does it, which is given up in time.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "agent/ranks/carried_environment.h"
#include "agent/side_process.h"
#include "model/result.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class Inspection {
 public:
  using Report = std::function<void(const wire::Inspected&)>;

  Inspection(EventLoop& loop, Report report) : report_(std::move(report)), process_(loop) {}

  /// Is answered once, at the latest after the question's limit. One that is under way is given up
  /// without an answer.
  void begin(const wire::Inspect& question);

 private:
  static wire::Inspected answer(const wire::Inspect& question, Result<std::string> said);

  Report report_;
  SideProcess process_;
};

/// What the process finds out. Blocks for as long as the node takes; `ask_gpus`: nvidia-smi and the
/// kernel's log, too.
[[nodiscard]] NodeCondition inspect_node(const wire::Inspect& question);

/// In which it asks what can be measured with: what a rank that measures would inherit and be
/// given. `login`: the agent's own environment. Pure but for the question which folders exist.
[[nodiscard]] Environment probe_environment(Environment login, const wire::Inspect& question,
                                            const FolderExists& exists);

}  // namespace dlaunch
