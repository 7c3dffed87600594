// What a check asks of a node about itself. Pure.
#pragma once

#include "model/job_spec.h"
#include "plan/make_plan.h"
#include "wire/message.h"

namespace dlaunch {

struct Inspection {
  bool gpus = true;         // whether nvidia-smi is asked
  bool collectives = true;  // whether the node could measure with traffic
  bool workdir = false;     // whether the room on the workdir's file system is asked
};

/// With the environment that ranks measuring for this job would be started with, so that a library
/// is found by both or by none; no secrets, which those ranks do not get either. `is_launcher`: the
/// node is this machine, whose agent has our environment already. The limit is left as it is.
[[nodiscard]] wire::Inspect inspect_message(const JobSpec& spec, const PlanContext& context,
                                            const Inspection& wanted, bool is_launcher);

}  // namespace dlaunch
