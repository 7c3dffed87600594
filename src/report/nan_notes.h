// Notes about nan and infinity in a run that ended well. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/metrics.h"

namespace dlaunch {

/// "loss: nan" as a program printed it last; nullopt: it printed no such value of a quantity that a
/// training watches (a loss, a norm, an accuracy, ...). Other mentions of "nan" do not count.
[[nodiscard]] std::optional<std::string> printed_nan(std::string_view text);

/// "3 values of the metric loss are not a number (\"nan\")": those that print as nan or infinity.
/// Says nothing about a metric without any number: metric_line() does.
[[nodiscard]] std::vector<std::string> nan_metrics(const std::vector<Metric>& metrics);

}  // namespace dlaunch
