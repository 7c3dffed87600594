// What the supervisor says while a run is going on, in one place. Lines are without "dlaunch: " in
// front.
#pragma once

#include <cstdint>
#include <string>

#include "model/job_spec.h"

namespace dlaunch::wording {

/// "30 s", "1 min 30 s", "2 h", "250 ms"; the two largest units that are not zero.
[[nodiscard]] std::string duration(Duration);

/// "1 rank", "8 ranks"
[[nodiscard]] std::string ranks(std::uint32_t count);

struct Stopping {
  std::uint32_t ranks = 0;
  int stop_signal = 0;
  Duration grace{};
};

/// `cancel_signal` 0: the front has gone.
[[nodiscard]] std::string stopping_on_cancel(int cancel_signal, const Stopping&);
[[nodiscard]] std::string stopping_at_limit(Duration limit, const Stopping&);
[[nodiscard]] std::string killing(std::uint32_t ranks);

/// Why a node counts as lost. `others`: how many more did not answer either.
[[nodiscard]] std::string no_answer(Duration limit, std::uint32_t others);
[[nodiscard]] std::string not_empty(Duration limit);

}  // namespace dlaunch::wording
