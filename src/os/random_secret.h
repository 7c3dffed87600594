#pragma once

#include <string>

#include "model/result.h"

namespace dlaunch {

/// 128 random bits (getrandom(2)) as 32 hexadecimal digits. Error: kInternal.
[[nodiscard]] Result<std::string> random_secret();

}  // namespace dlaunch
