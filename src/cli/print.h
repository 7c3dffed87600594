// What commands print, and the folder they were started in.
#pragma once

#include <string>

#include "model/result.h"

namespace dlaunch {

/// To stderr, "dlaunch: " in front unless the message begins with its own place (job.yaml:7:3:).
/// In GitHub Actions the errors of a job file are annotations of its lines as well.
/// Returns the error's exit code.
int print_error(const Error& error);

/// To stdout, with a newline at the end; returns kOk, or kInternal if it could not be written.
int print_text(const std::string& text);

/// Absolute; an error if it has been removed.
[[nodiscard]] Result<std::string> current_folder();

}  // namespace dlaunch
