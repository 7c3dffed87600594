// The hostfiles of `launch: once`, which tell the single process (the DeepSpeed launcher, mpirun,
// horovodrun, a driver program) its nodes and the number of processes for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/launch_plan.h"

namespace dlaunch {

enum class HostfileDialect {
  /// "name slots=N": DeepSpeed (deepspeed/launcher/runner.py), Open MPI (orte_hosts(7)), Horovod.
  /// No comments, because Horovod does not accept them.
  slots,
  /// "name:N": Hydra, the launcher of MPICH and Intel MPI (mpiexec -f). It rejects "slots=".
  hydra,
};

/// Name of the file in the attempt's folder.
[[nodiscard]] std::string_view hostfile_name(HostfileDialect dialect);

/// One host per line, in order of the nodes, without repetition. Every host has at least one slot.
[[nodiscard]] std::string hostfile_text(HostfileDialect dialect,
                                        const std::vector<HostSlots>& hosts);

}  // namespace dlaunch
