#include "supervise/ledger.h"

#include <algorithm>

namespace dlaunch {

void Ledger::begin(MonotonicTime now) {
  line_ = Spent::connect;
  since_ = now;
  is_closed_ = false;
}

void Ledger::turn(Spent line, MonotonicTime now) {
  if (!is_closed_) turn_at(line, now);
}

/// Time before `since_` stays with the line it was counted on.
void Ledger::turn_at(Spent line, MonotonicTime at) {
  at = std::max(at, since_);
  spent_[static_cast<std::size_t>(line_)] += at - since_;
  since_ = at;
  line_ = line;
}

void Ledger::begin_attempt(Spent line, MonotonicTime now) {
  turn(line, now);
  if (step_) reached_ = std::max(*step_, reached_.value_or(0));
  step_.reset();
  first_step_.reset();
  has_progress_ = false;
}

bool Ledger::has_ranks() const {
  return line_ == Spent::first_output || line_ == Spent::productive || line_ == Spent::recomputed ||
         line_ == Spent::stalled;
}

void Ledger::running(MonotonicTime now) {
  turn(has_progress_ ? Spent::productive : Spent::first_output, now);
}

void Ledger::progress(std::optional<std::uint64_t> step, MonotonicTime now) {
  has_progress_ = true;
  if (step) {
    if (!first_step_) first_step_ = step;
    step_ = std::max(*step, step_.value_or(0));
  }
  if (is_closed_ || !has_ranks()) return;
  const bool is_again = step_ && reached_ && *first_step_ <= *reached_;
  const Spent line = is_again && *step_ <= *reached_ ? Spent::recomputed : Spent::productive;
  // The steps up to the first one that was seen were done again, too.
  if (line_ == Spent::productive && line == Spent::recomputed) line_ = line;
  if (line_ != line) turn_at(line, now);
}

void Ledger::stalled(MonotonicTime silence, MonotonicTime now) {
  if (!is_closed_ && has_ranks() && line_ != Spent::stalled) turn_at(Spent::stalled, now - silence);
}

void Ledger::close(MonotonicTime now) {
  turn(line_, now);
  is_closed_ = true;
}

std::optional<std::uint64_t> Ledger::steps_lost() const {
  if (!reached_ || !first_step_) return std::nullopt;
  return *first_step_ > *reached_ ? 0 : *reached_ - *first_step_ + 1;
}

}  // namespace dlaunch
