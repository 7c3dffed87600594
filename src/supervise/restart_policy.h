// Whether a failed attempt is followed by another one, and after which wait
// (docs/how-to/restart-after-a-failure.md). Pure: all times come with the question.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "model/job_spec.h"
#include "model/report.h"

namespace dlaunch {

/// The state of the nodes after an attempt.
struct NodesLeft {
  bool lost = false;   // the next attempt needs a node that is lost
  bool stuck = false;  // a connected node could not be emptied
};

struct RestartDecision {
  enum class Kind {
    none,      // the run ends
    restart,   // one of restart.max
    new_port,  // does not count: the job is not at fault
  };
  Kind kind = Kind::none;
  Duration wait{0};          // before the next attempt
  std::uint32_t number = 0;  // "restart `number` of max"
  std::string why_not;       // if none, and the user may expect a restart: a clause
  bool operator==(const RestartDecision&) const = default;
};

/// What is left of restart.max. The rules, in this order:
///  - A port that another process took is not the job's failure: another port is tried at once, up
///     to `port_retries` times in a row. After that, or if the user chose the port, the run ends.
///  - Only causes in `on` are restarted. With a lost node, `on` must also have node-loss, because
///    the next attempt waits for that node.
///  - A node that still runs processes of the attempt cannot take part in another one.
///  - Exit codes 126 and 127 (POSIX shell: cannot be executed, not found) and those of
///    `not_on_exit` would recur, so they end the run. A signal counts as 128 + its number.
///  - An attempt that ran for `reset_after` restores the whole budget. The silence before a hang or
///    a lost node was noticed does not count as running.
///  - Only quick repetitions wait long: the first restart waits `backoff_min`, and so does the
///    restart after an attempt that ran for kHealthy, or for `reset_after` if that is shorter. Each
///    restart after a shorter attempt waits twice as long as the one before, at least 1 s and at
///    most `backoff_max`.
class RestartBudget {
 public:
  static constexpr std::chrono::minutes kHealthy{1};

  RestartBudget(RestartPolicy policy, std::uint32_t port_retries)
      : policy_(std::move(policy)), port_retries_(port_retries) {}

  /// Counts the restart when there is one.
  [[nodiscard]] RestartDecision after(const FailedAttempt&, NodesLeft = {});

  /// What after() would return for an attempt that ran this long, if its cause and the nodes forbid
  /// nothing. Counts nothing.
  [[nodiscard]] RestartDecision at_best(MonotonicTime healthy) const;

  /// False: the first attempt is the only one.
  [[nodiscard]] bool may_restart() const { return policy_.max > 0 || port_retries_ > 0; }
  /// The next attempt waits for lost nodes.
  [[nodiscard]] bool waits_for_nodes() const;
  [[nodiscard]] int max() const { return policy_.max; }

 private:
  [[nodiscard]] bool answers(RestartCause cause) const;
  [[nodiscard]] std::string objection(RestartCause, int exit_code, NodesLeft) const;
  [[nodiscard]] Duration next_wait() const;

  RestartPolicy policy_;
  std::uint32_t port_retries_;
  std::uint32_t ports_in_a_row_ = 0;
  std::uint32_t used_ = 0;        // since the budget was full
  std::optional<Duration> wait_;  // the last wait; nullopt: the next one starts over
};

}  // namespace dlaunch
