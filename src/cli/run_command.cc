#include <cstdio>
#include <memory>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/hosts.h"
#include "cli/job_options.h"
#include "cli/preflight.h"
#include "cli/print.h"
#include "cli/run_options.h"
#include "cli/show_plan.h"
#include "cli/smoke_test.h"
#include "launch/engine/engine_main.h"
#include "launch/front/front.h"
#include "plan/smoke.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch run job.yaml                                a job file\n"
    "  dlaunch run -n 4 -- python train.py --epochs 3      a command, 4 processes\n"
    "  dlaunch run job.yaml --set timeouts.run=2h -- --lr 0.1\n"
    "  dlaunch run --smoke job.yaml                     does it work at all? for CI\n"
    "  dlaunch run --detach job.yaml; dlaunch logs -f      in the background\n"
    "\n"
    "Arguments after -- are appended to the command of the job file, or are it.\n"
    "Output of every rank is in runs/ID/attempt-0/rank-N.out and .err.\n"
    "Exit code: 0; the code of the rank that failed first (128+n for signal n);\n"
    "64 usage, 65 job file, 69 node lost, 124 time limit, 126/127 command cannot be\n"
    "executed/found, 130 Ctrl-C, 143 SIGTERM.";

struct RunCommand {
  JobOptions job;
  bool dry_run = false;
  bool smoke = false;
  bool detach = false;
  bool no_preflight = false;
  bool quiet = false;
  int verbosity = 0;

  int execute() const {
    if (smoke && (job.hosts || job.hostfile || job.include || job.exclude)) {
      return print_error({exit_code::kUsage,
                          "--smoke runs on this machine only: leave out --hosts, --hostfile, "
                          "--include and --exclude"});
    }
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto loaded = load_job(job, *folder,
                           smoke ? keys_without_meaning_for_smoke() : std::vector<std::string>());
    if (!loaded) return print_error(loaded.error());
    if (smoke) {
      std::string line = make_smoke_test(job, *loaded);
      // What was left out is the longer half.
      if (const auto at = line.find("; not read: "); at != std::string::npos)
        line.replace(at, 2, ";\n         ");
      if (!quiet) std::fprintf(stderr, "dlaunch: %s\n", line.c_str());
    }
    if (const Status hosts =
            resolve_job_hosts(job, quiet, *loaded, smoke ? Allocation::ignored : Allocation::used);
        !hosts)
      return print_error(hosts.error());
    if (dry_run) {
      settle_without_check(loaded->spec);
      return show_plan(loaded->spec, *folder, {});
    }
    const bool types = !detach && ::isatty(STDIN_FILENO) == 1;
    const StdinFor stdin_for = loaded->spec.stdin_for;
    const bool may_type = types && stdin_for == StdinFor::automatic;
    const FrontOptions front{stdin_for == StdinFor::rank0 || may_type, detach, quiet};
    if (detach && front.forward_stdin) {
      return print_error({exit_code::kUsage,
                          "--detach: the job wants stdin (stdin: rank0), but there is no terminal "
                          "then\n         try: --set stdin=none"});
    }
    auto checked = run_preflight(loaded->spec, {no_preflight || smoke, quiet, *folder, verbosity});
    if (!checked) return print_error(checked.error());
    RunOptions options = run_options(std::move(*loaded), *folder);
    options.preflight = std::move(*checked);
    options.quiet = quiet;
    options.verbosity = verbosity;
    options.plain = smoke;
    options.detach = detach;
    options.stdin_is_terminal = types;
    return run_front([&](UniqueFd link) { return engine_main(options, std::move(link)); }, front);
  }
};

}  // namespace

Subcommand run_command(const TrailingArguments& arguments) {
  auto run = std::make_shared<RunCommand>();
  run->job.arguments = arguments;
  const auto describe = [run](CommandOptions options) {
    add_job_options(options, run->job);
    options = options.in_group("How it runs");
    options.flag("--dry-run", run->dry_run, "Print the plan and start nothing (as dlaunch plan)");
    options.flag("--smoke", run->smoke,
                 "Try the job out, small: this machine only, a\nrank for each GPU (else 2), at "
                 "most 10 min,\nno restarts");
    options.flag("-d,--detach", run->detach,
                 "Once all ranks have started, print the id of\nthe run and return; it goes on");
    options.flag("--no-preflight", run->no_preflight, "Leave the job's preflight out");
    options.flag("-q,--quiet", run->quiet, "Only the ranks' output, and failures");
    options.count("-v,--verbose", run->verbosity,
                  "What dlaunch does and how long it takes; -vv: more");
  };
  return {"run",
          "Start a job and look after it until every process is gone",
          kFooter,
          describe,
          [run] { return run->execute(); },
          true};
}

}  // namespace dlaunch
