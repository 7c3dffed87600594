#include <memory>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch convert cloud-job.yml > job.yaml             the native form, with notes\n"
    "  dlaunch convert pipeline.yml --step train\n"
    "  dlaunch convert job.yml --input data=./data --set restart.max=3";

struct ConvertCommand {
  JobOptions job;

  int execute() const {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    const auto text = convert_job(job, *folder);
    return text ? print_text(*text) : print_error(text.error());
  }
};

}  // namespace

Subcommand convert_command(const TrailingArguments& arguments) {
  auto convert = std::make_shared<ConvertCommand>();
  convert->job.arguments = arguments;
  const auto describe = [convert](const CommandOptions& options) {
    add_job_options(options, convert->job);
  };
  return {"convert",
          "Convert a job file of another system to a native one",
          kFooter,
          describe,
          [convert] { return convert->execute(); },
          true};
}

}  // namespace dlaunch
