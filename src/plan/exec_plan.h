// Computes the variables of this process from the world that another launcher set up, with the same
// table as `dlaunch run`. Pure.
#pragma once

#include <cstdint>

#include "jobfile/launchers/inherited_world.h"
#include "jobfile/launchers/master_port.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch::launchers {

struct ExecInput {
  Framework framework = Framework::pytorch;
  bool torch_variables = false;  // --torch-variables: also with mpi and horovod
  World world;
  Environment environment;
  NodeFacts facts;                // of this node
  bool cores_are_own = false;     // the launcher has bound this process to cores of its own
  std::uint16_t master_port = 0;  // --master-port; 0: derived from the job's id
  PortRange local_ports;
};

/// A plan with only `world.rank`, its node and the values common to all ranks filled in, for
/// plan_env_text() and rank_environment(). `scrubbed` names the identity variables of other
/// launchers; for mpi and horovod, those that an MPI library needs (PMI_*, PMIX_*, OMPI_*) stay.
/// Errors: exit_code::kUsage if there is no room for more ports above the given one, kPreflight if
/// the addresses of all tasks are needed but unknown (tensorflow, gcp).
[[nodiscard]] Result<LaunchPlan> exec_plan(const ExecInput&);

/// The environment of the process: without the scrubbed variables, with the plan's variables on
/// top; variables that are marked as kept stay unchanged if they are set.
[[nodiscard]] Environment rank_environment(const LaunchPlan&, std::uint32_t rank,
                                           const Environment&);

}  // namespace dlaunch::launchers
