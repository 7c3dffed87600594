// The libraries of this machine that dlaunch loads when it needs them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace dlaunch {

struct LibraryFact {
  std::string name;       // "mpi", "nccl", "nvml", "pmix"
  bool is_ready = false;  // found, and it can be loaded
  std::string says;  // if ready: "Open MPI v4.1.4", or empty; else what is missing, and what to
                     // install
};

/// The libraries of the measuring programs, tried in separate processes. Takes at most `limit`.
[[nodiscard]] std::vector<LibraryFact> collectives_libraries(std::chrono::milliseconds limit);

/// The same, and those that show what GPUs do and that start MPI programs without mpirun. Takes at
/// most 30 s. Call only from the main thread.
[[nodiscard]] std::vector<LibraryFact> found_libraries();

}  // namespace dlaunch
