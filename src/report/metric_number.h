#pragma once

#include <string>

namespace dlaunch {

/// The value of a metric, with at most six significant digits. Pure.
[[nodiscard]] std::string metric_number(double value);

}  // namespace dlaunch
