// The picture of `dlaunch scale --plot`. Pure.
#pragma once

#include "measure/svg_plot.h"
#include "report/scaling.h"

namespace dlaunch {

/// Throughput beside what it would be if it grew with the ranks, and efficiency in per cent, over
/// nodes or ranks. Sizes without a figure are left out.
[[nodiscard]] measure::Plot plot_of(const ScaleTable& table);

}  // namespace dlaunch
