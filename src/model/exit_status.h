// Process exit statuses and start failures.
#pragma once

#include <cstdint>
#include <string>

#include "model/result.h"

namespace dlaunch {

/// MPI errors that a rank's exit status does not show, observed by the MPI wire-up (MPI standard,
/// "Startup" and "Finalize").
enum class MpiEnd : std::uint8_t {
  fine,             // none of these, or not an MPI job
  aborted,          // called MPI_Abort
  never_connected,  // exited with 0 without calling MPI_Init
  not_finalized,    // exited with 0 after MPI_Init without MPI_Finalize
  other_world,      // exited with 0, but its MPI_COMM_WORLD was not the job's
};

/// wait(2) status in portable form.
struct ExitStatus {
  bool signaled = false;
  int value = 0;  // exit code 0..255, or the signal's number
  bool core_dumped = false;
  /// What the kernel reports about an out-of-memory kill ("cgroup limit 12 GiB"); empty:
  /// nothing.
  std::string out_of_memory = {};
  /// If aborted, `value` is the code passed to MPI_Abort, as far as an exit code can represent it.
  MpiEnd mpi = MpiEnd::fine;
  std::uint32_t mpi_world = 0;  // with other_world: size of its world
  /// For SIGKILL: the kernel's reports were readable, and out_of_memory is empty.
  bool oom_ruled_out = false;
  /// The first hardware fault that the node's GPU driver reported in the attempt ("Xid 79 on
  /// 0000:3b:00.0: the GPU has fallen off the bus"), for a rank that failed after it; empty: none.
  std::string gpu_fault = {};

  [[nodiscard]] bool ok() const { return !signaled && value == 0 && mpi == MpiEnd::fine; }
  /// The exit code in a shell: the code, or 128 + signal. Never 0 unless ok().
  [[nodiscard]] int code() const;
  bool operator==(const ExitStatus&) const = default;
};

/// The step between fork and exec that failed, or that a check predicted to fail, with its errno.
struct StartFailure {
  enum class Step : std::uint8_t {
    workdir,      // chdir(path)
    execute,      // execve(path)
    interpreter,  // path exists, but the program of its "#!" line does not
    resources,    // fork, pipe, open: details in path
    file,         // path cannot be read, though setup or the command names it
    container,    // the rank's container did not start: the runtime's explanation is in path
    module,       // the Python at path does not find `module` of the command (python -m)
  };
  Step step = Step::execute;
  int error_number = 0;
  std::string path;         // the object of the step
  std::string search_path;  // PATH of the rank, when `path` was looked up in it
  std::string module{};     // with Step::module
  std::string near{};       // an existing similar name, as the user would type it

  /// 126: found but cannot be executed; 127: not found (POSIX shells); 75: the limit of open files
  /// is too low; 70: another resource is missing.
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
