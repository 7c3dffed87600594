// Looks for the checkpoints that the ranks of an attempt write: when they start, when the launcher
// asks, and when the last rank has ended.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "model/checkpoint.h"
#include "node/side_process.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread. Each look runs in a process of its own for at most 2 s; looks
/// run one at a time.
class CheckpointWatch {
 public:
  using Send = std::function<void(const wire::FromAgent&)>;
  CheckpointWatch(EventLoop& loop, Send send) : send_(std::move(send)), look_(loop) {}

  /// Call before the first rank of an attempt starts.
  void begin(const wire::StartRanks& start);
  void see(const wire::SeeCheckpoints& question);
  /// Call when the last rank of the attempt has ended.
  void end();
  /// Calls `done` once the attempt's last CheckpointsSeen has been sent: at once if there is
  /// nothing to report, else within the time of two looks.
  void when_told(std::function<void()> done);
  /// The process of the current look. It belongs to no rank and ends by itself.
  [[nodiscard]] std::optional<pid_t> pid() const { return look_.pid(); }
  /// The processes of all looks in this attempt.
  [[nodiscard]] const std::set<pid_t>& pids() const { return pids_; }

 private:
  struct Question {
    std::uint32_t id = 0;
    WallTime at;
  };

  void look(SideProcess::Work work, SideProcess::Done done);
  void next();
  void take_first(const Result<std::string>& answer);
  void answer(const Question& question, const Result<std::string>& answer);

  const Send send_;
  SideProcess look_;
  Attempt attempt_;
  std::string workdir_;
  std::vector<std::string> patterns_;  // none: nothing is watched
  WallTime begun_;
  CheckpointList before_;
  CheckpointList last_;  // at the end of the previous attempt
  std::string problem_;  // of the first look
  std::deque<Question> questions_;
  std::set<pid_t> pids_;
  std::function<void()> done_;
};

}  // namespace dlaunch
