// The account of a run's time: each moment belongs to one line (model/spent_time.h), so the lines
// add up to the whole. Pure: all times are given, and never go back.
#pragma once

#include <cstdint>
#include <optional>

#include "model/spent_time.h"
#include "model/time.h"

namespace dlaunch {

class Ledger {
 public:
  /// The run begins, with Spent::connect.
  void begin(MonotonicTime now);
  /// From now on, time belongs to `line`. Does nothing once the account is closed.
  void turn(Spent line, MonotonicTime now);
  /// The ranks of an attempt are told to start.
  void begin_attempt(Spent line, MonotonicTime now);
  /// All of its ranks run.
  void running(MonotonicTime now);
  /// A rank has printed or shown progress in another way; `step`: the largest one so far, where
  /// known. An attempt whose first step is not larger than those of earlier attempts repeats their
  /// work until it gets past their last step.
  void progress(std::optional<std::uint64_t> step, MonotonicTime now);
  /// There has been no progress for `silence`; progress() ends that.
  void stalled(MonotonicTime silence, MonotonicTime now);
  /// The run is over.
  void close(MonotonicTime now);

  /// Steps of earlier attempts that this one does again; nullopt: unknown.
  [[nodiscard]] std::optional<std::uint64_t> steps_lost() const;
  /// Up to the last call.
  [[nodiscard]] const SpentTimes& spent() const { return spent_; }

 private:
  void turn_at(Spent line, MonotonicTime at);
  [[nodiscard]] bool has_ranks() const;

  SpentTimes spent_{};
  Spent line_ = Spent::connect;
  MonotonicTime since_{0};  // the time up to here is in spent_
  bool is_closed_ = true;
  // of the attempt
  bool has_progress_ = false;
  std::optional<std::uint64_t> first_step_;
  std::optional<std::uint64_t> step_;
  std::optional<std::uint64_t> reached_;  // by earlier attempts
};

}  // namespace dlaunch
