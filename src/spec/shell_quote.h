// Quoting for POSIX shells.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::spec {

/// The text as one word of a POSIX shell command (XCU 2.2.2): unchanged if no character of it means
/// anything to a shell, else in single quotes.
[[nodiscard]] std::string shell_quote(std::string_view text);

}  // namespace dlaunch::spec
