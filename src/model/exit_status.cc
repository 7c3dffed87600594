#include "model/exit_status.h"

#include <cerrno>

#include "model/signal_names.h"

namespace dlaunch {

int StartFailure::code() const {
  if (step == Step::resources) return exit_code::kInternal;
  const bool absent = error_number == ENOENT || error_number == ENOTDIR;
  return absent && step == Step::execute ? exit_code::kNotFound : exit_code::kCannotExecute;
}

std::string describe(const StartFailure& failure) {
  const std::string why = errno_text(failure.error_number);
  const std::string quoted = '"' + failure.path + '"';
  switch (failure.step) {
    case StartFailure::Step::workdir:
      return "cannot enter the workdir " + quoted + ": " + why;
    case StartFailure::Step::interpreter:
      return "cannot execute " + quoted + ": the interpreter in its #! line does not exist";
    case StartFailure::Step::resources:
      return "cannot start the process: " + failure.path + ": " + why;
    case StartFailure::Step::execute:
      break;
  }
  if (failure.error_number == ENOEXEC) {
    return "cannot execute " + quoted + ": it is no program and has no #! line";
  }
  return "cannot execute " + quoted + ": " + why;
}

std::string describe(const ExitStatus& status) {
  if (!status.signaled) return "exited with code " + std::to_string(status.value);
  return "was killed by " + signal_name(status.value) +
         (status.core_dumped ? " (core dumped)" : "");
}

}  // namespace dlaunch
