// The hostfiles of `launch: once`: what tells the one process (the DeepSpeed launcher, mpirun,
// horovodrun, a driver program) which nodes are its own, and how many processes it may start there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/launch_plan.h"

namespace dlaunch {

enum class HostfileDialect {
  /// "name slots=N": DeepSpeed (deepspeed/launcher/runner.py), Open MPI (orte_hosts(7)), Horovod.
  /// Comments are left out: Horovod takes none.
  slots,
  /// "name:N": Hydra, which starts MPICH and Intel MPI (mpiexec -f). It refuses "slots=".
  hydra,
};

/// Name of the file in the folder of the attempt.
[[nodiscard]] std::string_view hostfile_name(HostfileDialect dialect);

/// One host a line, in order of the nodes, none twice. Hosts have at least one slot each.
[[nodiscard]] std::string hostfile_text(HostfileDialect dialect,
                                        const std::vector<HostSlots>& hosts);

}  // namespace dlaunch
