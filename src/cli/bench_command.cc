#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/bench_options.h"
#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "measure/bench/bench_run.h"
#include "measure/figures/operation.h"
#include "measure/run/plot_file.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

constexpr int kWrongElements = 1;

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch bench all_reduce                                 this machine\n"
    "  dlaunch bench all_reduce --hosts gpu[01-04] -b 8 -e 1G\n"
    "  dlaunch bench all_to_all --hostfile hosts.txt --type bfloat16 --json\n"
    "  dlaunch bench --pairs --hosts gpu[01-16]                 is there a slow link?\n"
    "\n"
    "Times are those of the slowest rank, bandwidths as in nccl-tests\n"
    "(docs/how-to/measure-collectives.md).\n"
    "Exit code: 0; 1 wrong elements; 64 usage, 69 node lost, 70 a rank failed or the\n"
    "plot was not written, 75 no back-end or too little memory, 124 time limit,\n"
    "130 Ctrl-C.";

struct BenchCommand {
  BenchOptions options;
  JobOptions hosts;
  std::string plot;
  bool json = false;
  bool keep = false;
  int verbosity = 0;

  int execute() const;
};

Status check_plot(const std::string& file, const BenchRequest& request) {
  if (file.empty()) return {};
  if (request.mode == "pairs")
    return fail(exit_code::kUsage, "--plot: --pairs has no sizes to draw");
  if (!has_size(request.header.operation))
    return fail(exit_code::kUsage, "--plot: a barrier has no sizes to draw");
  return check_plot_file(file);
}

std::string final_text(bool json, bool is_pairs, const BenchFigures& result,
                       const std::string& error) {
  if (json) {
    return (is_pairs ? pair_json(result.header, result.pairs, error)
                     : to_json(result.header, result.rows, error)) +
           '\n';
  }
  return (is_pairs ? pair_text(result.header, result.pairs) : "") + measure::incomplete_text(error);
}

/// Prints what follows the rows. `error`: why the measurement is incomplete; empty: it is complete.
int finish(const BenchCommand& command, bool is_pairs, const BenchFigures& result,
           const std::string& error) {
  const std::string text = final_text(command.json, is_pairs, result, error);
  int code = text.empty() ? exit_code::kOk : print_text(text);
  // Last, so that a full disk does not lose the figures.
  if (!command.plot.empty()) {
    measure::Plot plot = plot_of(result.header, result.rows);
    if (!error.empty()) plot.notes.push_back("incomplete: " + error);
    const Status written = write_plot_file(command.plot, plot);
    if (!written) code = print_error(written.error());
  }
  const bool wrong =
      std::any_of(result.rows.begin(), result.rows.end(),
                  [](const measure::BenchRow& row) { return wrong_elements(row) > 0; });
  return wrong ? kWrongElements : code;
}

int BenchCommand::execute() const {
  const auto request = read_bench_options(options);
  if (!request) return print_error(request.error());
  if (const Status status = check_plot(plot, *request); !status) return print_error(status.error());
  const auto folder = current_folder();
  if (!folder) return print_error(folder.error());
  JobOptions job = hosts;
  job.arguments = {"dlaunch-collectives"};  // run_bench() sets the command
  auto loaded = load_job(job, *folder);
  if (!loaded) return print_error(loaded.error());
  if (const Status status = resolve_job_hosts(job, false, *loaded); !status)
    return print_error(status.error());
  RunOptions run = run_options(std::move(*loaded), *folder);
  run.verbosity = verbosity;
  const bool is_pairs = request->mode == "pairs";
  BenchFigures result;
  const auto ran = run_bench(*request, std::move(run), sets_processes(hosts),
                             keep ? KeepRun::always : KeepRun::failed, result,
                             [this, is_pairs](const std::string& text) {
                               if (!json && !is_pairs) (void)print_text(text);
                             });
  if (!ran) {
    if (result.has_begun()) (void)finish(*this, is_pairs, result, ran.error().message);
    return print_error(ran.error());
  }
  if (!ran->run_folder.empty())
    std::fprintf(stderr, "dlaunch: the run is kept in %s\n", ran->run_folder.c_str());
  if (ran->run_folder.empty() && ran->exit_code > exit_code::kSignalBase)
    std::fprintf(stderr, "dlaunch: its logs are removed; --keep keeps them\n");
  if (ran->exit_code == exit_code::kOk) return finish(*this, is_pairs, result, "");
  if (result.has_begun()) (void)finish(*this, is_pairs, result, failure_text(*ran));
  return ran->exit_code;
}

}  // namespace

Subcommand bench_command() {
  auto bench = std::make_shared<BenchCommand>();
  const auto describe = [bench](CommandOptions options) {
    add_bench_options(options, bench->options);
    options.value("--plot", bench->plot, "Write a plot, too (SVG)", "FILE");
    options.flag("--json", bench->json, "As JSON, with percentiles");
    options.flag("--keep", bench->keep, "Keep the run folder, and print its path");
    add_host_options(options, bench->hosts);
    options.count("-v,--verbose", bench->verbosity, "What dlaunch does, and how long it takes");
  };
  return {"bench", "Measure collectives between hosts: time, bandwidth, correctness", kFooter,
          describe, [bench] { return bench->execute(); }};
}

}  // namespace dlaunch
