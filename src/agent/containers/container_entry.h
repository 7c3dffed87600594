// The first process of a rank's container, `dlaunch agent --enter FOLDER [--at WORKDIR] RANK`: it
// fetches from its agent what is to run (container_words.h), starts it, passes signals on, tells
// how it ended, and ends everything in the container when the rank has ended or the agent is gone.
// So the same holds for every runtime: exit statuses and signals are exact, variables are on no
// command line and in no engine's records, output does not pass the engine, and nothing runs on
// without its agent.
#pragma once

#include <string>

#include "model/environment.h"
#include "model/ids.h"

namespace dlaunch {

/// `workdir`: where to start what is to run, kImagesOwn: where this process was started; empty: in
/// the order's. Does not return before everything is over; the rank's exit code, as a shell would
/// show it, or exit_code::kInternal with a line on stderr when the agent cannot be reached.
[[nodiscard]] int enter_container(const std::string& folder, Rank rank, const std::string& workdir);

/// What Charliecloud's images set, /ch/environment (ch-run(1), --set-env): lines NAME=VALUE, single
/// quotes around a value taken away. Pure.
[[nodiscard]] Environment charliecloud_environment(std::string_view text);

}  // namespace dlaunch
