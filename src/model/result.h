// Errors as values. Every expected failure (bad input, an unreachable host, a missing file) is a
// Result; exceptions of third-party libraries stop at their adapter, and a violated internal
// contract is an assert.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace dlaunch {

/// Exit codes of `dlaunch` itself. 64, 65, 69, 70, 74, 75: sysexits.h. 124: timeout(1). 126, 127:
/// POSIX shell. 158: a node is being taken away; 128 + SIGPWR, because nothing else here sends that
/// signal.
/// A run otherwise exits with its first failing rank's code (128 + n for signal n).
namespace exit_code {
inline constexpr int kOk = 0;
inline constexpr int kUsage = 64;
inline constexpr int kJobFile = 65;
inline constexpr int kNodeLost = 69;
inline constexpr int kInternal = 70;
inline constexpr int kNotCollected = 74;
inline constexpr int kPreflight = 75;
inline constexpr int kTimeLimit = 124;
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalBase = 128;
inline constexpr int kPreempted = 158;
}  // namespace exit_code

/// The message of an expected failure (it may have several lines, the first one complete in itself)
/// and the exit code of the process if the error is not handled.
struct Error {
  int exit_code = exit_code::kInternal;
  std::string message;

  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(int code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

/// "open runs/x: No space left on device". Reads `error_number` (an errno value), never errno
/// itself.
[[nodiscard]] tl::unexpected<Error> fail_errno(int code, const std::string& what, int error_number);

/// Meaning of an errno value; thread-safe, unlike strerror.
[[nodiscard]] std::string errno_text(int error_number);

}  // namespace dlaunch
