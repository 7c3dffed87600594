// The first process of a rank's container, `dlaunch agent --enter FOLDER [--at WORKDIR] RANK`. It
// fetches the order from its agent (entry_protocol.h), starts the rank's program, forwards signals,
// reports how the program ended, and kills everything in the container when the program has ended
// or the agent is gone. As a result, all container runtimes behave alike: exit statuses and signals
// are exact, no variable appears on a command line or in an engine's records, output does not pass
// through the engine, and no process outlives its agent.
#pragma once

#include <string>

#include "model/environment.h"
#include "model/ids.h"

namespace dlaunch {

/// `workdir`: where the program starts; kImagesOwn: where this process was started; empty: where
/// the order says. Once the program and everything that it started have ended, returns the rank's
/// exit code as a shell would show it, or exit_code::kInternal with a line on stderr if the agent
/// cannot be reached.
[[nodiscard]] int enter_container(const std::string& folder, Rank rank, const std::string& workdir);

/// Variables of a Charliecloud image, from the text of /ch/environment (ch-run(1), --set-env):
/// lines NAME=VALUE, with single quotes around a value removed. Pure.
[[nodiscard]] Environment charliecloud_environment(std::string_view text);

}  // namespace dlaunch
