// Whether a failed attempt is followed by another one, and after which wait (docs/restart.md).
// Pure: all times come with the question.
#pragma once

#include <cstdint>
#include <string>

#include "model/job_spec.h"
#include "model/report.h"
#include "model/time.h"

namespace dlaunch {

/// How an attempt ended, as far as that matters here.
struct AttemptOutcome {
  Cause cause = Cause::success;
  int exit_code = 0;        // that the run would end with
  MonotonicTime ran{0};     // from the start of its ranks to the failure
  bool node_lost = false;   // the channel of a node is gone; nothing of the attempt is left there
  bool node_stuck = false;  // a node that is connected could not be emptied
  bool operator==(const AttemptOutcome&) const = default;
};

struct RestartDecision {
  enum class Kind {
    none,      // the run ends
    restart,   // one of restart.max
    new_port,  // for nothing: nobody is to blame
  };
  Kind kind = Kind::none;
  Duration wait{0};          // before the next attempt
  std::uint32_t number = 0;  // "restart `number` of max"
  std::string why_not;       // when none, and a person may have expected one: half a sentence
  bool operator==(const RestartDecision&) const = default;
};

/// What is left of restart.max. The rules, in this order:
///  - A port that somebody else took is no failure of the job: a new one is tried, at once, up to
///    `port_retries` times in a row. Then, or when the port was chosen by the user, the run ends.
///  - Only what `on` names is restarted. Whatever else the cause, with a lost node `on` must have
///    node-loss too, because the next attempt waits for that node.
///  - A node that still runs something of the attempt takes part in no other one.
///  - Exit codes 126 and 127 (POSIX shell: cannot be executed, not found) and those of
///    `not_on_exit` would come again, so they end the run. A signal counts as 128 + its number.
///  - An attempt that ran for `reset_after` gives the whole budget back, and the wait begins at its
///    minimum again.
///  - The n-th restart since then waits min * 2^(n-1), at most max.
class RestartBudget {
 public:
  RestartBudget(RestartPolicy policy, std::uint32_t port_retries)
      : policy_(std::move(policy)), port_retries_(port_retries) {}

  /// Counts the restart when there is one.
  [[nodiscard]] RestartDecision after(const AttemptOutcome&);

  /// False: no attempt is ever followed by another one.
  [[nodiscard]] bool may_restart() const { return policy_.max > 0 || port_retries_ > 0; }
  /// A lost node is waited for.
  [[nodiscard]] bool waits_for_nodes() const;
  [[nodiscard]] int max() const { return policy_.max; }

 private:
  [[nodiscard]] bool answers(RestartCause cause) const;
  [[nodiscard]] std::string objection(RestartCause, const AttemptOutcome&) const;
  [[nodiscard]] Duration wait_before(std::uint32_t number) const;

  RestartPolicy policy_;
  std::uint32_t port_retries_;
  std::uint32_t ports_in_a_row_ = 0;
  std::uint32_t used_ = 0;  // since the budget was full
};

}  // namespace dlaunch
