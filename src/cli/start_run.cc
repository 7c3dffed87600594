#include "cli/start_run.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "cli/print.h"
#include "fabric/node_facts.h"
#include "launch/engine/engine_main.h"
#include "launch/front/front.h"
#include "launch/session/plan_preview.h"
#include "measure/check/preflight.h"
#include "os/descriptors.h"
#include "os/own_machine.h"
#include "plan/smoke.h"
#include "report/plan_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// The number of files that front and engine open before the first rank starts.
constexpr std::size_t kLeastFiles = 20;

/// Replaces the job with its smoke test; returns the line that says what differs.
std::string make_smoke_test(const JobOptions& options, LoadedJob& job) {
  NodeFacts facts;
  facts.gpus = fabric::read_gpus("");
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    facts.cuda_visible_devices = visible;
  SmokeInput input;
  input.gpus = count_usable_gpus(job.spec, facts);
  input.count_given = sets_processes(options);
  input.run_limit_given = is_set(options, "timeouts.run");
  input.stop_given = is_set(options, "timeouts.stop");
  input.prefix_given = is_set(options, "logs.prefix");
  input.ignored = job.ignored;
  SmokeJob smoke = make_smoke_job(std::move(job.spec), input);
  job.spec = std::move(smoke.spec);
  job.record.note = "dlaunch run --smoke: " + smoke.line;
  job.record.again += " --smoke";
  return smoke.line;
}

/// `types`: stdin is a terminal, which the job may read.
Result<FrontOptions> front_options(const JobSpec& spec, const RunRequest& request, bool types) {
  const bool may_type = types && spec.stdin_for == StdinFor::automatic;
  const bool has_reader = spec.stdin_for == StdinFor::rank0 || spec.stdin_for == StdinFor::rank;
  const bool has_pty = spec.pty.has_value();
  const FrontOptions front{has_reader || has_pty || may_type, request.detach, request.quiet,
                           has_pty};
  if (has_pty && !types) {
    return fail(exit_code::kUsage, "rank " + std::to_string(*spec.pty) +
                                       " gets no terminal (pty): " +
                                       (request.detach ? "--detach leaves the job without one"
                                                       : "dlaunch's stdin is not a terminal"));
  }
  if (request.detach && front.forward_stdin) {
    return fail(exit_code::kUsage,
                "the job reads stdin (stdin: rank" + std::to_string(spec.stdin_rank) +
                    "), but --detach leaves it without a terminal\n         try: --set stdin=none");
  }
  return front;
}

/// Makes a smoke test of the job, and tells the user.
void shrink(const RunRequest& request, LoadedJob& loaded) {
  std::string line = make_smoke_test(request.job, loaded);
  // The list of ignored keys is the longer half, so it gets its own line.
  if (const auto at = line.find("; not read: "); at != std::string::npos)
    line.replace(at, 2, ";\n         ");
  if (!request.quiet) std::fprintf(stderr, "dlaunch: %s\n", line.c_str());
}

int print_plan(LoadedJob& loaded, const std::string& folder) {
  settle_without_check(loaded.spec);
  const auto preview = preview_plan(loaded.spec, folder, false);
  return preview ? print_text(plan_text(preview->plan, preview->cluster))
                 : print_error(preview.error());
}

Error too_few_files(std::size_t left) {
  const OpenFileLimit limit = open_file_limit();
  const std::size_t needed = limit.soft - left + kLeastFiles;
  return {exit_code::kPreflight,
          "dlaunch may open only " + counted(left, "more file") + ", but a run needs " +
              std::to_string(kLeastFiles) +
              (needed <= limit.hard ? "\n         try: ulimit -n " + std::to_string(needed)
                                    : "; the hard limit is " + std::to_string(limit.hard))};
}

}  // namespace

void add_run_options(CommandOptions options, RunRequest& request) {
  options = options.in_group("How it runs");
  options.flag("--dry-run", request.dry_run,
               "Print the plan and start nothing (like dlaunch plan)");
  options.flag("--smoke", request.smoke,
               "Try the job at small scale: this machine only, a\nrank for each GPU (else 2), at "
               "most 10 min,\nno restarts");
  options.flag("-d,--detach", request.detach,
               "Once all ranks have started, print the id of\nthe run and return; the run goes on");
  options.flag("--no-preflight", request.no_preflight, "Skip the job's preflight");
  options.flag("-q,--quiet", request.quiet, "Only the ranks' output, and failures");
  options.count("-v,--verbose", request.verbosity,
                "What dlaunch does and how long it takes; -vv: more");
}

int start_run(const RunRequest& request) {
  const JobOptions& job = request.job;
  if (const std::size_t left = free_descriptors(); left < kLeastFiles)
    return print_error(too_few_files(left));
  if (request.smoke && (job.hosts || job.hostfile || job.include || job.exclude)) {
    return print_error({exit_code::kUsage,
                        "--smoke runs on this machine only: leave out --hosts, --hostfile, "
                        "--include and --exclude"});
  }
  const auto folder = current_folder();
  if (!folder) return print_error(folder.error());
  auto loaded = load_job(
      job, *folder, request.smoke ? keys_without_meaning_for_smoke() : std::vector<std::string>());
  if (!loaded) return print_error(loaded.error());
  if (request.adapt) request.adapt(*loaded);
  if (request.smoke) shrink(request, *loaded);
  if (const Status hosts = resolve_job_hosts(
          job, request.quiet, *loaded, request.smoke ? Allocation::ignored : Allocation::used);
      !hosts)
    return print_error(hosts.error());
  if (request.dry_run) return print_plan(*loaded, *folder);
  const bool types = !request.detach && ::isatty(STDIN_FILENO) == 1;
  const auto front = front_options(loaded->spec, request, types);
  if (!front) return print_error(front.error());
  auto checked = run_preflight(loaded->spec, {request.no_preflight || request.smoke, request.quiet,
                                              *folder, request.verbosity});
  if (!checked) return print_error(checked.error());
  RunOptions options = run_options(std::move(*loaded), *folder);
  options.preflight = std::move(checked->notes);
  options.preflight_table = std::move(checked->table);
  options.quiet = request.quiet;
  options.verbosity = request.verbosity;
  options.plain = request.smoke;
  options.detach = request.detach;
  options.stdin_is_terminal = types;
  const int code =
      run_front([&](UniqueFd link) { return engine_main(options, std::move(link)); }, *front);
  std::fflush(nullptr);
  ::_exit(code);  // the shell waits for our end, and nothing here needs a destructor
}

}  // namespace dlaunch
