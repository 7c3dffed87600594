// The node's side of `collect`: sends files to the launcher, by a staging whose only target is the
// launcher (launch/collect/collect_run.h is the other end).
#pragma once

#include <cstdint>
#include <functional>

#include "model/environment.h"
#include "node/stage/stage_run.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class CollectService {
 public:
  using Send = std::function<void(wire::CollectAnswer)>;
  /// `env`: the agent's own, which outlives this.
  CollectService(EventLoop& loop, const Environment& env, Send send);

  void on(const wire::CollectBegin& begin);
  void on(const wire::OneOf<wire::StageAnswer> auto& answer) { run_.on(kLauncher, answer); }
  void abandon() { run_.cancel(); }

 private:
  static constexpr NodeId kLauncher{0};  // as the only node of the staging

  void done(const Result<StageReport>& report);

  const Environment& env_;
  Send send_;
  StageRun run_;
  wire::CollectDone answer_;
};

}  // namespace dlaunch
