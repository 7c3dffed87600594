// `dlaunch bench`: how fast collectives are between these hosts, and whether they compute right.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/bench_options.h"
#include "cli/collectives_rank.h"
#include "cli/commands.h"
#include "cli/measured_run.h"
#include "cli/plot_file.h"
#include "cli/print.h"
#include "measure/bench_table.h"
#include "measure/pair_table.h"
#include "measure/svg_plot.h"

namespace dlaunch {

namespace {

using measure::BenchHeader;
using measure::BenchRow;
using measure::PairResult;

constexpr int kWrongElements = 1;

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch bench all_reduce                                 this machine\n"
    "  dlaunch bench all_reduce --hosts gpu[01-04] -b 8 -e 1G\n"
    "  dlaunch bench all_to_all --hostfile hosts.txt --type bfloat16 --json\n"
    "  dlaunch bench --pairs --hosts gpu[01-16]                 is there a slow link?\n"
    "\n"
    "Times are the slowest rank's, bandwidths are those of nccl-tests (docs/bench.md).\n"
    "Exit code: 0; 1 wrong elements; 64 usage, 69 node lost, 70 a rank has failed or\n"
    "the plot was not written, 75 a back-end is missing or memory, 124 time limit,\n"
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

/// What has been measured so far.
struct Measured {
  BenchHeader header;
  std::vector<BenchRow> rows;
  std::vector<PairResult> pairs;
};

bool count_is_given(const JobOptions& hosts) {
  return !hosts.processes.empty() || !hosts.per_node.empty() || is_set(hosts, "processes") ||
         is_set(hosts, "processes_per_node");
}

AttemptPlanner::Prepare prepare_for(const BenchWish& wish, bool count_given) {
  return [wish, count_given](JobSpec& spec, const Cluster& cluster) -> Status {
    const MeasureWish needs{wish.backend, is_built_in(MeasureBackend::mpi),
                            is_built_in(MeasureBackend::nccl), count_given};
    const auto place = place_measurement(needs, cluster, spec);
    if (!place) return tl::unexpected(place.error());
    if (const Status ready = check_ranks(wish, place->ranks); !ready) return ready;
    if (place->backend == MeasureBackend::mpi) {
      if (const Status sized = check_mpi_size(wish, place->ranks); !sized) return sized;
      const Status room = check_memory(*place, cluster, bytes_per_rank(wish, place->ranks));
      if (!room) return room;
    }
    spec.command.argv = collectives_words(place->backend, wish.mode, wish.settings);
    return {};
  };
}

/// Rows appear as they are measured.
void take(const measure::Record& record, bool shown, Measured& measured) {
  std::string text;
  if (record.kind() == "header") {
    add_ranks(record, measured.header);
    text = table_head(measured.header);
  } else if (record.kind() == "size") {
    measured.rows.push_back(read_row(record, measured.header));
    text = table_row(measured.rows.back(), measured.header);
  } else if (record.kind() == "pair") {
    measured.pairs.push_back(measure::read_pair(record));
  }
  if (shown && !text.empty()) (void)print_text(text);
}

Status check_plot(const std::string& file, const BenchWish& wish) {
  if (file.empty()) return {};
  if (wish.mode == "pairs") return fail(exit_code::kUsage, "--plot: --pairs has no sizes to draw");
  if (!has_size(wish.header.operation))
    return fail(exit_code::kUsage, "--plot: a barrier has no sizes to draw");
  return check_plot_file(file);
}

std::string final_text(bool json, bool is_pairs, const Measured& measured,
                       const std::string& error) {
  if (json) {
    return (is_pairs ? pair_json(measured.header, measured.pairs, error)
                     : to_json(measured.header, measured.rows, error)) +
           '\n';
  }
  return (is_pairs ? pair_text(measured.header, measured.pairs) : "") +
         measure::incomplete_text(error);
}

/// What is said at the end. `error`: why not all was measured; empty: it was.
int finish(const BenchCommand& command, bool is_pairs, const Measured& measured,
           const std::string& error) {
  const std::string text = final_text(command.json, is_pairs, measured, error);
  int code = text.empty() ? exit_code::kOk : print_text(text);
  // Last: what has been measured is not to be lost with a disk that has filled up meanwhile.
  if (!command.plot.empty()) {
    measure::Plot plot = plot_of(measured.header, measured.rows);
    if (!error.empty()) plot.notes.push_back("not all was measured: " + error);
    const Status written = write_plot_file(command.plot, plot);
    if (!written) code = print_error(written.error());
  }
  const bool wrong = std::any_of(measured.rows.begin(), measured.rows.end(),
                                 [](const BenchRow& row) { return wrong_elements(row) > 0; });
  return wrong ? kWrongElements : code;
}

int BenchCommand::execute() const {
  const auto wish = read_bench_options(options);
  if (!wish) return print_error(wish.error());
  if (const Status status = check_plot(plot, *wish); !status) return print_error(status.error());
  MeasuredJob job;
  job.name = "bench";
  job.hosts = hosts;
  job.keep = keep ? KeepRun::always : KeepRun::failed;
  job.verbosity = verbosity;
  job.prepare = prepare_for(*wish, count_is_given(hosts));
  const bool is_pairs = wish->mode == "pairs";
  Measured measured{wish->header, {}, {}};
  const auto ran = measured_run(std::move(job), [&](const measure::Record& record) -> Status {
    take(record, !json && !is_pairs, measured);
    return {};
  });
  // Nothing is lost where the ranks have not even said who they are.
  const bool has_begun = !measured.header.hosts.empty();
  if (!ran) {
    if (has_begun) (void)finish(*this, is_pairs, measured, ran.error().message);
    return print_error(ran.error());
  }
  if (!ran->run_folder.empty())
    std::fprintf(stderr, "dlaunch: the run is kept in %s\n", ran->run_folder.c_str());
  if (ran->run_folder.empty() && ran->exit_code > exit_code::kSignalBase)
    std::fprintf(stderr, "dlaunch: its logs are removed; --keep keeps them\n");
  if (ran->exit_code == exit_code::kOk) return finish(*this, is_pairs, measured, "");
  if (has_begun) (void)finish(*this, is_pairs, measured, failure_text(*ran));
  return ran->exit_code;
}

}  // namespace

Subcommand bench_command() {
  auto bench = std::make_shared<BenchCommand>();
  const auto describe = [bench](CommandOptions options) {
    add_bench_options(options, bench->options);
    options.value("--plot", bench->plot, "Draw it, too: an SVG file", "FILE");
    options.flag("--json", bench->json, "As JSON, with percentiles");
    options.flag("--keep", bench->keep, "Keep the folder of the run, and say which");
    add_place_options(options, bench->hosts);
    options.count("-v,--verbose", bench->verbosity, "What dlaunch does, and how long it takes");
  };
  return {"bench", "Measure collectives between hosts: time, bandwidth, correctness", kFooter,
          describe, [bench] { return bench->execute(); }};
}

}  // namespace dlaunch
