// Finds the error of a Python program in the lines that it printed. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlaunch {

/// One frame of a Python traceback.
struct TracebackFrame {
  std::string file;
  std::string line;
  std::string function;  // empty: the traceback names none, as for a SyntaxError
  bool operator==(const TracebackFrame&) const = default;
};

/// The error of a program, in its own words.
struct ProgramError {
  std::string exception;             // "RuntimeError: CUDA out of memory"
  std::optional<std::string> where;  // "train.py:118 in forward"
  std::optional<TracebackFrame> frame;   // the innermost frame of the program itself
  std::size_t at = 0;                // index of the exception's line in `lines`
  bool operator==(const ProgramError&) const = default;
};

/// `lines` as plain_line() makes them. Finds, in this order of preference: the last traceback that
/// Python did not merely mention ("Exception ignored in"), or a later SyntaxError, which has no
/// traceback if the program's own file cannot be compiled; "Fatal Python error" of the faulthandler
/// module, if it comes after those; an exception that C++ code did not catch; a fatal line of
/// Google's loggers (JAX, TensorFlow); the interpreter's message about a missing script or module;
/// a traceback that Python merely mentioned. For an exception group, it also names the first single
/// exception in the group. Formats: Python's Lib/traceback.py, Modules/faulthandler.c and
/// Modules/main.c.
[[nodiscard]] std::optional<ProgramError> find_program_error(const std::vector<std::string>& lines);

}  // namespace dlaunch
