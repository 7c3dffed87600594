#include "supervise/starter.h"

#include "supervise/wording.h"
#include "text/strings.h"

namespace dlaunch {

std::optional<Outcome> Starter::ended(const event::StarterEnded& e, MonotonicTime last_messages) {
  if (end_) return std::nullopt;
  end_ = e;
  if (e.after_signal) return std::nullopt;
  if (!e.status.ok()) return failure();
  if (begun_due_) begun_due_ = last_messages;
  return std::nullopt;
}

Outcome Starter::failure() const {
  return ended::by_starter(where_ + ' ' + describe(end_->status), end_->said, end_->status.code());
}

Outcome Starter::too_few(std::uint32_t begun, std::uint32_t ranks) const {
  const std::string what =
      where_ + " started " + std::to_string(begun) + " of " + counted(ranks, "rank");
  if (end_) {
    return ended::by_starter(what + " and exited with code 0", end_->said, exit_code::kPreflight);
  }
  return ended::by_starter(
      what + " within " + wording::duration(limit_) + " (twice timeouts.connect)", "",
      exit_code::kTimeLimit);
}

Outcome Starter::ended_ranks() const {
  return ended::by_starter(name_ + " ended ranks, but exited with code 0", end_ ? end_->said : "",
                           exit_code::kInternal);
}

Outcome Starter::settle(Outcome halted, const Outcome& by_rank, WallTime failed) const {
  if (!end_ || end_->after_signal || end_->status.ok()) return halted;
  const bool was_killed = end_->status.signaled;
  if (halted.cause == Cause::starter) return was_killed ? halted : by_rank;
  if (!halted.first || !was_killed) return halted;
  const bool rank_was_first = failed + end_->clock_error < end_->at - end_->clock_error;
  return rank_was_first ? halted : failure();
}

}  // namespace dlaunch
