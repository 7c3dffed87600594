#include "model/exit_status.h"

#include <cerrno>

#include "model/signal_names.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// The remedy, if one of the user's limits is the usual cause (setrlimit(2)).
std::string advice(int error_number) {
  if (error_number == EMFILE)
    return "; raise the limit of open files (ulimit -n), or start fewer ranks";
  if (error_number == EAGAIN) {
    return "; raise the limit of processes (ulimit -u, or pids.max of the cgroup), or start fewer "
           "ranks";
  }
  return "";
}

std::string what_failed(const StartFailure& failure) {
  const std::string why = errno_text(failure.error_number);
  const std::string quoted = '"' + failure.path + '"';
  switch (failure.step) {
    case StartFailure::Step::workdir:
      return "cannot enter the workdir " + quoted + ": " + why;
    case StartFailure::Step::interpreter:
      return "cannot execute " + quoted + ": the interpreter in its #! line does not exist";
    case StartFailure::Step::resources:
      return "cannot start the process: " + failure.path + ": " + why +
             advice(failure.error_number);
    case StartFailure::Step::file:
      return "cannot read " + quoted + ": " + why;
    case StartFailure::Step::container:
      return "the container could not start: " + failure.path;
    case StartFailure::Step::module:
      return "no module \"" + failure.module + "\" for " + failure.path;
    case StartFailure::Step::execute:
      break;
  }
  if (failure.error_number == ENOEXEC) {
    return "cannot execute " + quoted + ": it is neither a program nor a script with a #! line";
  }
  return "cannot execute " + quoted + ": " + why;
}

}  // namespace

int StartFailure::code() const {
  if (step == Step::resources)
    return error_number == EMFILE ? exit_code::kPreflight : exit_code::kInternal;
  const bool absent = error_number == ENOENT || error_number == ENOTDIR;
  return absent && step == Step::execute ? exit_code::kNotFound : exit_code::kCannotExecute;
}

std::string describe(const StartFailure& failure) {
  const std::string what = what_failed(failure);
  return failure.near.empty() ? what : what + ", did you mean \"" + failure.near + "\"?";
}

int ExitStatus::code() const {
  if (signaled) return exit_code::kSignalBase + value;
  if (value != 0 || mpi == MpiEnd::fine) return value;
  // The rank itself reported success, but the job's rules say otherwise.
  return mpi == MpiEnd::aborted ? 1 : exit_code::kJobFile;
}

const char* name_of(MpiEnd end) {
  switch (end) {
    case MpiEnd::fine:
      return "";
    case MpiEnd::aborted:
      return "aborted";
    case MpiEnd::never_connected:
      return "never-connected";
    case MpiEnd::not_finalized:
      return "not-finalized";
    case MpiEnd::other_world:
      return "other-world";
  }
  return "";
}

std::string describe(const ExitStatus& status) {
  if (status.mpi == MpiEnd::aborted)
    return "called MPI_Abort and ended with code " + std::to_string(status.code());
  if (status.mpi == MpiEnd::never_connected) return "exited without having called MPI_Init";
  if (status.mpi == MpiEnd::not_finalized) return "exited without MPI_Finalize";
  if (status.mpi == MpiEnd::other_world) {
    return "exited from an MPI world of " + counted(status.mpi_world, "rank");
  }
  if (!status.signaled) return "exited with code " + std::to_string(status.value);
  return "was killed by " + signal_name(status.value) +
         (status.core_dumped ? " (core dumped)" : "");
}

}  // namespace dlaunch
