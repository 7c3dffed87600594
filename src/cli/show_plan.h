// `dlaunch plan` and `dlaunch run --dry-run`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/job_spec.h"

namespace dlaunch {

struct PlanView {
  bool json = false;
  bool offline = false;                 // no node is asked
  std::optional<std::uint32_t> env_of;  // a rank
};

/// Asks the nodes for their facts, makes the plan, prints it; returns the exit code.
[[nodiscard]] int show_plan(const JobSpec& spec, const std::string& current_folder,
                            const PlanView& view);

}  // namespace dlaunch
