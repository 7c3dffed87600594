#include <memory>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/print.h"
#include "cli/show_plan.h"
#include "launch/engine_main.h"
#include "launch/front.h"

extern char** environ;

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch run job.yaml                                a job file\n"
    "  dlaunch run -n 4 -- python train.py --epochs 3      a command, 4 processes\n"
    "  dlaunch run job.yaml --set timeouts.run=2h -- --lr 0.1\n"
    "\n"
    "Arguments after -- are appended to the command of the job file, or are the command.\n"
    "Output of every rank is in runs/ID/attempt-0/rank-N.out and .err.\n"
    "Exit code: 0; the code of the rank that failed first (128+n for signal n); 64 usage, 65 job "
    "file,\n"
    "69 node lost, 124 time limit, 126/127 command cannot be executed/found, 130 Ctrl-C, 143 "
    "SIGTERM.";

struct RunCommand {
  JobOptions job;
  bool dry_run = false;
  bool quiet = false;
  int verbosity = 0;

  int execute() const {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto loaded = load_job(job, *folder);
    if (!loaded) return print_error(loaded.error());
    if (dry_run) return show_plan(loaded->spec, *folder, {});
    RunOptions options;
    const bool forward_stdin = loaded->spec.stdin_for == StdinFor::rank0;
    options.spec = std::move(loaded->spec);
    options.job_text = std::move(loaded->text);
    options.current_folder = *folder;
    options.environment = environment_from_block(environ);
    options.quiet = quiet;
    options.verbosity = verbosity;
    return run_front([&](UniqueFd link) { return engine_main(options, std::move(link)); },
                     forward_stdin);
  }
};

}  // namespace

Subcommand run_command(const TrailingArguments& arguments) {
  auto run = std::make_shared<RunCommand>();
  run->job.arguments = arguments;
  const auto describe = [run](CommandOptions options) {
    add_job_options(options, run->job);
    options.flag("--dry-run", run->dry_run, "Print the plan and start nothing (as dlaunch plan)");
    options.flag("-q,--quiet", run->quiet, "Only the ranks' output, and failures");
    options.count("-v,--verbose", run->verbosity,
                  "What dlaunch does and how long it takes; -vv: more");
  };
  return {"run", "Start a job and look after it until every process is gone", kFooter, describe,
          [run] { return run->execute(); }};
}

}  // namespace dlaunch
