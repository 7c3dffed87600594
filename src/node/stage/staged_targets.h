// Lists and removes what stagings have put on this node: `dlaunch stage --list` and `--clean`. Only
// what a record of a staging names is removed, if it is still what the staging put there; no link
// is followed out of a target. Trees may be large and disks slow, so a separate process does it.
#pragma once

#include <functional>
#include <utility>

#include "model/environment.h"
#include "node/side_process.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Runs in that process. Blocks as long as the file systems take. `env`: the agent's own.
[[nodiscard]] wire::StagedSeen see_staged(const Environment& env, const wire::SeeStaged& question);

/// Lives on the agent's one thread.
class StagedTargets {
 public:
  using Report = std::function<void(const wire::StagedSeen&)>;
  /// `env`: the agent's own, which outlives this.
  StagedTargets(EventLoop& loop, const Environment& env, Report report)
      : env_(env), report_(std::move(report)), process_(loop) {}

  /// Answers once, after the question's limit at the latest. Abandons an earlier question.
  void begin(const wire::SeeStaged& question);

 private:
  const Environment& env_;
  Report report_;
  SideProcess process_;
};

}  // namespace dlaunch
