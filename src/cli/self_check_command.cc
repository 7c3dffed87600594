#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/print.h"
#include "measure/info/inspect_self.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch self-check          what works on this machine, and what to install\n"
    "  dlaunch self-check --json   the same for tools\n"
    "\n"
    "dlaunch info shows the hardware, dlaunch check --local tests and measures it.\n"
    "Exit code: 0, even if optional parts are missing; 75: dlaunch does not work here.";

int print_self_check(bool json) {
  const auto rows = self_check(inspect_self());
  const int printed = print_text(json ? self_check_json(rows) : self_check_text(rows));
  const bool is_broken = std::any_of(rows.begin(), rows.end(), [](const SelfCheckRow& row) {
    return row.state == SelfCheckRow::State::broken;
  });
  return is_broken ? exit_code::kPreflight : printed;
}

}  // namespace

Subcommand self_check_command() {
  auto json = std::make_shared<bool>(false);
  const auto describe = [json](CommandOptions options) {
    options.flag("--json", *json, "As JSON");
  };
  return {"self-check", "Show what dlaunch can use on this machine, and what is missing", kFooter,
          describe, [json] { return print_self_check(*json); }};
}

}  // namespace dlaunch
