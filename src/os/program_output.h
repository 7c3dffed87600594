// What a program prints, for questions like `mpirun --version`.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/result.h"

namespace dlaunch {

/// Standard output and standard error of `argv` (looked up in PATH), together, at most 64 KiB of
/// them; its exit code does not matter. Its stdin is /dev/null. Errors: exit_code::kNotFound or
/// kCannotExecute, and kTimeLimit when it has not ended within `limit`: then it is killed, and left
/// alone if that does not end it within 1 s more. Waits for this child alone. `environment`: its
/// own; null: ours, as PATH is in any case.
[[nodiscard]] Result<std::string> program_output(const std::vector<std::string>& argv,
                                                 std::chrono::milliseconds limit,
                                                 const Environment* environment = nullptr);

}  // namespace dlaunch
