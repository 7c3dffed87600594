// Prints the messages, results and progress of commands.
#pragma once

#include <cstddef>
#include <string>

#include "model/result.h"

namespace dlaunch {

/// Prints to stderr, after "dlaunch: " unless the message begins with a file position
/// (job.yaml:7:3:). In GitHub Actions also as an annotation of that line. Returns the error's exit
/// code.
int print_error(const Error& error);

/// Prints to stdout, with a newline at the end. Returns kOk, or kInternal if it cannot be written.
int print_text(const std::string& text);

/// Shows a line on stderr, on a terminal only; the next line replaces it, an empty one removes it.
void show_progress(const std::string& text);

/// The number of columns for a line on stdout: the terminal's, but at least 40; 4096 if stdout is
/// not a terminal.
[[nodiscard]] std::size_t output_columns();

}  // namespace dlaunch
