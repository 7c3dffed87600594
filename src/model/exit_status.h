// How a process ended, and why one could not be started.
#pragma once

#include <cstdint>
#include <string>

#include "model/result.h"

namespace dlaunch {

/// What the wire-up of an MPI job saw of a rank that ended otherwise than MPI has it (MPI standard,
/// "Startup" and "Finalize"): its exit status alone does not tell.
enum class MpiEnd : std::uint8_t {
  fine,             // nothing of that kind, or it was no MPI job
  aborted,          // it has called MPI_Abort
  never_connected,  // it exited with 0 and had never called MPI_Init
  not_finalized,    // it exited with 0 after MPI_Init and without MPI_Finalize
  other_world,      // it exited with 0, and its MPI_COMM_WORLD was not the job's
};

/// wait(2) status in portable form.
struct ExitStatus {
  bool signaled = false;
  int value = 0;  // exit code 0..255, or the signal's number
  bool core_dumped = false;
  /// What the kernel's records say of an end for lack of memory ("limit of its cgroup 12 GiB");
  /// empty: they say nothing of the kind.
  std::string out_of_memory = {};
  /// When aborted, `value` is the code given to MPI_Abort, as far as an exit code can hold it.
  MpiEnd mpi = MpiEnd::fine;
  std::uint32_t mpi_world = 0;  // with other_world: ranks in the world that it had
  /// For SIGKILL: the kernel's records could be read, and out_of_memory is empty.
  bool oom_ruled_out = false;

  [[nodiscard]] bool ok() const { return !signaled && value == 0 && mpi == MpiEnd::fine; }
  /// What a shell would show: the code, or 128 + signal. Never 0 for what is not ok().
  [[nodiscard]] int code() const;
  bool operator==(const ExitStatus&) const = default;
};

/// The step between fork and exec that failed, or that a check before it found would fail, with its
/// errno.
struct StartFailure {
  enum class Step : std::uint8_t {
    workdir,      // chdir(path)
    execute,      // execve(path)
    interpreter,  // path exists, but the program of its "#!" line does not
    resources,    // fork, pipe, open: path says what
    file,         // path cannot be read, though setup or the command names it
    container,    // the rank's container did not come up: path says why, in the runtime's words
    module,       // the Python at path does not find `module`, which the command names (python -m)
  };
  Step step = Step::execute;
  int error_number = 0;
  std::string path;         // what the step was tried on
  std::string search_path;  // PATH of the rank, when `path` was looked up in it
  std::string module{};     // with Step::module
  std::string near{};       // an existing similar name, as the user would type it

  /// 126: found but cannot be executed; 127: not found (POSIX shell's rule).
  [[nodiscard]] int code() const;
  bool operator==(const StartFailure&) const = default;
};

/// `cannot execute "python3.12": No such file or directory`
[[nodiscard]] std::string describe(const StartFailure&);

/// "aborted", "never-connected", "not-finalized", "other-world"; empty: fine.
[[nodiscard]] const char* name_of(MpiEnd end);

/// "exited with code 3", "was killed by SIGSEGV (core dumped)"
[[nodiscard]] std::string describe(const ExitStatus&);

}  // namespace dlaunch
