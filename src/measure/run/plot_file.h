// The SVG file of --plot.
#pragma once

#include <string>

#include "measure/figures/svg_plot.h"
#include "model/result.h"

namespace dlaunch {

/// Tests before the measurement whether the file can be written; an existing file stays unchanged.
/// Errors: exit_code::kUsage.
[[nodiscard]] Status check_plot_file(const std::string& file);

/// Errors: exit_code::kInternal.
[[nodiscard]] Status write_plot_file(const std::string& file, const measure::Plot& plot);

}  // namespace dlaunch
