// A check's request to a node about itself. Pure.
#pragma once

#include "model/job_spec.h"
#include "plan/make_plan.h"
#include "wire/message.h"

namespace dlaunch {

struct InspectionScope {
  bool gpus = true;         // query nvidia-smi
  bool collectives = true;  // find out whether the node can measure with traffic
  bool workdir = false;  // the room on the workdir's file system; how quickly code is read from it
                         // and from an environment that is active or that a command's program is in
};

/// Contains the environment of the ranks that would measure for this job, so that the node finds a
/// library if and only if they do; without secrets, which those ranks do not get either.
/// `is_launcher`: the node is this machine, whose agent already has our environment. The limit is
/// left unchanged.
[[nodiscard]] wire::Inspect inspect_message(const JobSpec& spec, const PlanContext& context,
                                            const InspectionScope& wanted, bool is_launcher);

}  // namespace dlaunch
