// Hostfiles as Open MPI, MPICH, DeepSpeed, Horovod and schedulers write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch::spec {

/// Which form a file is in; its first line that shows a form decides.
enum class HostfileForm {
  /// One host a line. Where any host is repeated, each line is a slot (PBS_NODEFILE,
  /// LSB_DJOB_HOSTFILE, Open MPI); where none is, slots are not given.
  names,
  /// "host slots=4 [max_slots=8] [port=22] [username=me]": Open MPI (mpirun(1), hostfile lexer of
  /// PRRTE), DeepSpeed and Horovod, whose files are a part of it. A line without slots= adds one to
  /// a host that was named before; two lines with slots= for one host are an error.
  slots,
  /// "host:4 [user=me] [binding=...]": Hydra, which starts MPICH and Intel MPI. Without ":4" it is
  /// one slot; lines of a host that follow each other add up.
  colon,
  /// "host 4 queue range": PE_HOSTFILE of Grid Engine (sge_pe(5)). Lines of a host add up.
  columns,
};

struct Hostfile {
  HostfileForm form = HostfileForm::names;
  /// Each host once, in order of its first line; slots 0: not given. At least one.
  std::vector<HostSpec> hosts;
  /// What the file says without effect here, one sentence each, for the user to know.
  std::vector<std::string> notes;
};

inline constexpr std::size_t kMostHostfileBytes = std::size_t{8} * 1024 * 1024;

/// Reads a hostfile; `name` is what it is called in errors. In every form a name may hold ranges
/// ("gpu[01-04]"), "user@" may stand before it, comments go from '#' or "//" to the end of the line
/// or stand between "/*" and "*/", and blanks and empty lines mean nothing. What people mean
/// differently in two forms ("a:4 slots=2", "a 4") is an error. All errors come in one, each as
/// NAME:LINE:COLUMN: error: MESSAGE with the line and a caret (exit_code::kJobFile). Time and
/// memory are bounded by the sizes of hostlist.h and kMostHostfileBytes. Thread-safe.
[[nodiscard]] Result<Hostfile> read_hostfile(std::string_view text, const std::string& name);

}  // namespace dlaunch::spec
