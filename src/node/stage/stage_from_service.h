// The node's side of a `stage` line whose files are on a node: stages them to all nodes. It speaks
// to the nodes' agents through the launcher (launch/stage/job_staging.h is the other end); the
// blocks go from here to the first node over a connection of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "node/stage/stage_run.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class StageFromService {
 public:
  using Send = std::function<void(wire::FromNodeAnswer)>;
  StageFromService(EventLoop& loop, Send send);

  /// Ends an earlier staging.
  void on(wire::StageFrom& order);
  /// A node's answer. Anything but a StageAnswer is ignored.
  void on(const wire::StageLetter& letter);
  void on(const wire::StageLost& lost);
  void abandon();

 private:
  void done(const Result<StageReport>& report);

  Send send_;
  StageRun run_;
  std::uint32_t id_ = 0;
  std::vector<wire::StagePeer> peers_;
};

}  // namespace dlaunch
