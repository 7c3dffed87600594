// Signal names of signal(7), both ways. Names are printed as "SIGTERM" and accepted as "TERM" or
// "SIGTERM".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

/// "SIGTERM"; "signal 64" for a number without a name (real-time signals).
[[nodiscard]] std::string signal_name(int number);

/// 15 for "TERM" and "SIGTERM", in any case; nullopt for anything else.
[[nodiscard]] std::optional<int> signal_number(std::string_view name);

}  // namespace dlaunch
