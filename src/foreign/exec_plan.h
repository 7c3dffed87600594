// From a foreign world to the variables of this process: the same table as `dlaunch run`. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "foreign/master_port.h"
#include "foreign/world.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/result.h"

namespace dlaunch::foreign {

struct ExecInput {
  Framework framework = Framework::pytorch;
  bool torch_variables = false;  // --torch-variables: beside those of mpi and horovod
  World world;
  Environment environment;
  NodeFacts facts;                // of this node
  bool cores_are_own = false;     // the launcher has bound this process to cores of its own
  std::uint16_t master_port = 0;  // --master-port; 0: from the job's id
  PortRange local_ports;
};

/// A plan of which only `world.rank`, its node and what is the same for all are filled in, for
/// plan_env_text() and rank_environment(). Foreign variables of another identity are in
/// `scrubbed`; for mpi and horovod those stay that an MPI library needs (PMI_*, PMIX_*, OMPI_*).
/// Errors: exit_code::kUsage for a port that leaves no room, kPreflight where the addresses of all
/// tasks would have to be known and are not (tensorflow, gcp).
[[nodiscard]] Result<LaunchPlan> exec_plan(const ExecInput&);

/// What the process starts with: the environment without what is scrubbed, with the plan's
/// variables on top; those marked as kept stay as they are where they are set.
[[nodiscard]] Environment rank_environment(const LaunchPlan&, std::uint32_t rank,
                                           const Environment&);

}  // namespace dlaunch::foreign
