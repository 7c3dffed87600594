#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/print.h"
#include "jobfile/json_schema.h"
#include "report/file_schemas.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch schema > job.schema.json\n"
    "  and as the first line of a job file, for editors with the YAML language server:\n"
    "  # yaml-language-server: $schema=job.schema.json\n"
    "  dlaunch schema summary           of summary.json in the folder of a run";

int print_schema(const std::string& of) {
  if (of.empty() || of == "job") return print_text(jobfile::json_schema());
  if (const auto schema = file_schema(of)) return print_text(std::string(*schema));
  return print_error({exit_code::kUsage, "no schema \"" + of +
                                             "\", only job, events, summary and plan"
                                             "\n         try: dlaunch schema summary"});
}

}  // namespace

Subcommand schema_command() {
  auto of = std::make_shared<std::string>();
  const auto describe = [of](CommandOptions options) {
    options.positional("OF", *of,
                       "job: the job file (default); events, summary,\n"
                       "plan: events.jsonl, summary.json, plan.json");
  };
  return {"schema", "Print the JSON Schema of the job file, or of a run's files", kFooter, describe,
          [of] { return print_schema(*of); }};
}

}  // namespace dlaunch
