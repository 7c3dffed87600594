// Manual pages in the language of man(7), from what --help shows. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace dlaunch {

/// dlaunch(1). `version`: "0.1.0".
[[nodiscard]] std::string program_page(const std::vector<CommandGroup>& groups,
                                       const std::string& version);

/// dlaunch-run(1) and so on.
[[nodiscard]] std::string command_page(const Subcommand& command, const std::string& version);

}  // namespace dlaunch
