// Hostfiles in the formats of Open MPI, MPICH, DeepSpeed, Horovod and batch schedulers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch::jobfile {

/// The format of a file; the first line that is specific to a format decides.
enum class HostfileForm {
  /// One host per line. If any host is repeated, each line is a slot (PBS_NODEFILE,
  /// LSB_DJOB_HOSTFILE, Open MPI); otherwise slots are not given.
  names,
  /// "host slots=4 [max_slots=8] [port=22] [username=me]": Open MPI (mpirun(1), hostfile lexer of
  /// PRRTE); DeepSpeed and Horovod use a subset. A line without slots= adds one slot to a host
  /// already named; two lines with slots= for one host are an error.
  slots,
  /// "host:4 [user=me] [binding=...]": Hydra, the launcher of MPICH and Intel MPI. A host without
  /// ":4" has one slot; consecutive lines of one host add up.
  colon,
  /// "host 4 queue range": PE_HOSTFILE of Grid Engine (sge_pe(5)). Lines of one host add up.
  columns,
};

struct Hostfile {
  HostfileForm form = HostfileForm::names;
  /// Each host once, in order of its first line; slots 0: not given. Never empty.
  std::vector<HostSpec> hosts;
  /// Notes for the user on settings in the file that have no effect; one sentence each.
  std::vector<std::string> notes;
};

inline constexpr std::size_t kMostHostfileBytes = std::size_t{8} * 1024 * 1024;

/// Reads a hostfile; errors call it `name`. All formats accept ranges ("gpu[01-04]"), "user@"
/// before a name, comments from '#' or "//" to the end of the line or between "/*" and "*/", blanks
/// and empty lines. Lines whose meaning differs between two formats ("a:4 slots=2", "a 4") are an
/// error. One Error holds all errors, each as NAME:LINE:COLUMN: error: MESSAGE with the line and a
/// caret (exit_code::kJobFile). Time and memory are bounded by the limits of hostlist.h and
/// kMostHostfileBytes. Thread-safe.
[[nodiscard]] Result<Hostfile> read_hostfile(std::string_view text, const std::string& name);

}  // namespace dlaunch::jobfile
