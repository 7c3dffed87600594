// The invariants of every run, checked as expectations of a test; and what such runs have reached.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "invariants.h"
#include "model/report.h"
#include "trace.h"

namespace dlaunch::sim {

/// How often each kind of event and action came in some runs.
class Coverage {
 public:
  void count(const Trace& run);
  /// In the results of the running test.
  void record() const;
  /// Names of those that never came, in alphabetical order.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  static constexpr std::size_t kEvents = std::variant_size_v<Event>;
  static constexpr std::size_t kActions = std::variant_size_v<Action>;
  [[nodiscard]] std::map<std::string, std::uint64_t> seen() const;

  std::uint64_t runs_ = 0;
  std::array<std::uint64_t, kEvents> events_{};
  std::array<std::uint64_t, kActions> actions_{};
};

/// The attempts of a run, and the wait in which it ended.
[[nodiscard]] std::vector<Part> parts_of(const Trace& run);

/// Expects every invariant of the run and of its attempts; the report of its end. `which`: for the
/// message, behind the seed.
RunReport check(const Trace& run, Coverage&, const char* which = "");

/// The same when it is cancelled twice, at a time within `took`.
[[nodiscard]] Scenario cancelled_twice(Scenario scenario, MonotonicTime took);

}  // namespace dlaunch::sim
