// `hosts: auto`: the nodes that a scheduler assigned to the job, from its environment variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/environment.h"
#include "model/job_spec.h"
#include "model/result.h"

namespace dlaunch::jobfile {

/// The variable that holds the hosts.
struct SchedulerVariable {
  std::string_view name;  // "PBS_NODEFILE"
  std::string value;      // a path if `is_file`, otherwise the list
  bool is_file = false;
};

/// The first of these that is set and not empty:
///   PBS_NODEFILE        file, one line per slot (PBS Professional, Torque)
///   LSB_MCPU_HOSTS      "hostA 4 hostB 2" (LSF)
///   LSB_DJOB_HOSTFILE   file, one line per slot (LSF)
///   LSB_HOSTS           "hostA hostA hostB" (LSF)
///   PE_HOSTFILE         file, "host slots queue range" (Grid Engine, sge_pe(5))
///   SLURM_JOB_NODELIST  "node[01-04]"
///   AZ_BATCH_HOST_LIST  "10.0.0.4,10.0.0.5" (Azure Batch)
///   AZ_BATCH_NODE_LIST  "10.0.0.4;10.0.0.5" (Azure Batch)
///   CCP_NODES           "2 10.0.0.4 1 10.0.0.5 1": a count, then hosts and cores (HPC Pack, Azure
///   Batch)
/// Else an error that lists them (exit_code::kJobFile).
[[nodiscard]] Result<SchedulerVariable> find_scheduler_hosts(const Environment& environment);

/// The hosts in that variable, each once; `text` is the content of its file if `is_file`, otherwise
/// its value. If every host has one slot, slots are not given (0): such lists name nodes only, and
/// a node then gets a rank per GPU. Errors name the variable, or the file with line and column
/// (exit_code::kJobFile).
[[nodiscard]] Result<std::vector<HostSpec>> read_scheduler_hosts(const SchedulerVariable& variable,
                                                                 std::string_view text);

}  // namespace dlaunch::jobfile
