// A check's request to a node about itself. Pure.
#pragma once

#include "launch/session/survey.h"
#include "wire/message.h"

namespace dlaunch {

/// With the environment of the ranks that would measure for this job, so that both or neither find
/// a library; without secrets, which those ranks do not get either. `is_launcher`: the node is this
/// machine, whose agent already has our environment. The limit is left unchanged.
[[nodiscard]] wire::Inspect inspect_message(const JobSpec& spec, const PlanContext& context,
                                            const SurveyOptions& options, bool is_launcher);

}  // namespace dlaunch
