// Random numbers from the kernel. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/result.h"

namespace dlaunch {

/// 128 random bits (getrandom(2)) as 32 hexadecimal digits. Error: kInternal.
[[nodiscard]] Result<std::string> random_secret();
/// Takes the same time wherever the strings differ.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b);

/// 64 bits for ids and names that must differ; not for a secret, since without getrandom(2) (a
/// seccomp filter, a kernel that is still booting) they are made from the clock and the process id.
[[nodiscard]] std::uint64_t random_number();

/// `prefix` and random_number() as 16 hexadecimal digits.
[[nodiscard]] std::string random_name(std::string_view prefix);

}  // namespace dlaunch
