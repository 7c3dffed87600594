#include "cli/commands.h"
#include "cli/print.h"
#include "jobfile/json_schema.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch schema > job.schema.json\n"
    "  and as the first line of a job file, for editors with the YAML language server:\n"
    "  # yaml-language-server: $schema=job.schema.json";

}  // namespace

Subcommand schema_command() {
  return {"schema", "Print the JSON Schema of the job file", kFooter, [](const CommandOptions&) {},
          [] { return print_text(jobfile::json_schema()); }};
}

}  // namespace dlaunch
