#include <memory>

#include "cli/commands.h"
#include "cli/man_page.h"
#include "cli/print.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch man run | man -l -      the page of dlaunch run\n"
    "  dlaunch man > dlaunch.1         the page of dlaunch, as a file\n"
    "\n"
    "The dlaunch packages install these pages: man dlaunch-run.";

}  // namespace

Subcommand man_command(const std::vector<CommandGroup>& groups) {
  auto name = std::make_shared<std::string>();
  const auto describe = [name](CommandOptions options) {
    options.positional("COMMAND", *name, "The command (default: dlaunch itself)");
  };
  const auto execute = [name, &groups] {
    if (name->empty()) return print_text(program_page(groups, DLAUNCH_VERSION));
    if (const Subcommand* command = find_command(groups, *name))
      return print_text(command_page(*command, DLAUNCH_VERSION));
    return print_error(
        {exit_code::kUsage, "unknown command \"" + *name + "\"\n         try: dlaunch --help"});
  };
  return {"man", "Print a manual page, for man(1)", kFooter, describe, execute};
}

}  // namespace dlaunch
