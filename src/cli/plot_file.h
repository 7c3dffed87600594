// The SVG file of --plot.
#pragma once

#include <string>

#include "measure/svg_plot.h"
#include "model/result.h"

namespace dlaunch {

/// Whether the file can be written, found at the start and not after an hour; what is there already
/// stays as it is. Errors: exit_code::kUsage.
[[nodiscard]] Status check_plot_file(const std::string& file);

/// Errors: exit_code::kInternal.
[[nodiscard]] Status write_plot_file(const std::string& file, const measure::Plot& plot);

}  // namespace dlaunch
