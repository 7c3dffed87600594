// Sizes in bytes for messages. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace dlaunch {

/// "1 byte", "999 bytes", "1.2 kB", "34 MB", "5.6 GB": powers of 1000 (IEC 80000-13), two digits.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// "12 files, 1.2 MB".
[[nodiscard]] std::string files_text(std::uint64_t files, std::uint64_t bytes);

}  // namespace dlaunch
