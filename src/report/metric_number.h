#pragma once

#include <string>

namespace dlaunch {

/// The value of a metric with six digits, as a person reads them. Pure.
[[nodiscard]] std::string metric_number(double value);

}  // namespace dlaunch
