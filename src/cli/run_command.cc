#include <memory>

#include "cli/commands.h"
#include "cli/start_run.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch run job.yaml                                a job file\n"
    "  dlaunch run -n 4 -- python train.py --epochs 3      a command, 4 processes\n"
    "  dlaunch run job.yaml --set timeouts.run=2h -- --lr 0.1\n"
    "  dlaunch run --smoke job.yaml                        does it work at all? for CI\n"
    "  dlaunch run --detach job.yaml; dlaunch logs -f      in the background\n"
    "\n"
    "Arguments after -- are appended to the command of the job file; without a job\n"
    "file they are the command.\n"
    "Output of every rank is in runs/ID/attempt-0/rank-N.out and .err.\n"
    "Exit code: 0; the code of the rank that failed first (128+n for signal n);\n"
    "64 usage, 65 job file, 69 node lost, 124 time limit, 126/127 command cannot be\n"
    "executed/found, 130 Ctrl-C, 143 SIGTERM.";

}  // namespace

Subcommand run_command(const TrailingArguments& arguments) {
  auto run = std::make_shared<RunRequest>();
  run->job.arguments = arguments;
  const auto describe = [run](const CommandOptions& options) {
    add_job_options(options, run->job);
    add_run_options(options, *run);
  };
  return {"run",
          "Start a job and look after it until every process is gone",
          kFooter,
          describe,
          [run] { return start_run(*run); },
          true};
}

}  // namespace dlaunch
