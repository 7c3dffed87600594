// What a check asks of a node about itself. Pure.
#pragma once

#include "launch/session/survey.h"
#include "wire/message.h"

namespace dlaunch {

/// With the environment that ranks measuring for this job would be started with, so that a library
/// is found by both or by none; no secrets, which those ranks do not get either. `is_launcher`: the
/// node is this machine, whose agent has our environment already. The limit is left as it is.
[[nodiscard]] wire::Inspect inspect_message(const JobSpec& spec, const PlanContext& context,
                                            const SurveyOptions& options, bool is_launcher);

}  // namespace dlaunch
