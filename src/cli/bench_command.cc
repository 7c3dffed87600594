#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "dlaunch/collectives/types.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "measure/bench/bench_run.h"
#include "measure/figures/operation.h"
#include "measure/figures/sizes.h"
#include "measure/run/plot_file.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

/// The options of `dlaunch bench`, as typed.
struct BenchOptions {
  std::string operation;
  bool pairs = false;
  std::optional<std::string> min_bytes;
  std::optional<std::string> max_bytes;
  std::optional<std::string> step_bytes;
  std::optional<std::uint32_t> factor;
  std::optional<std::uint32_t> warmup;
  std::optional<std::uint32_t> iterations;
  std::optional<std::uint32_t> root;
  std::optional<std::string> type;
  std::optional<std::string> op;
  std::optional<std::string> timeout;
  std::string backend = "auto";
  bool check = false;
  bool no_check = false;
};

using measure::Operation;

constexpr std::uint32_t kMostIterations = 1'000'000;
constexpr const char* kPairsSize = "4M";
constexpr std::chrono::seconds kShortestTimeout{1};

tl::unexpected<Error> usage(const std::string& message) {
  return fail(exit_code::kUsage, message);
}

/// "--type flaot32: unknown, did you mean "float32"? There are int8, ...".
template <class Name>
tl::unexpected<Error> unknown(const std::string& what, std::size_t count, Name name) {
  std::vector<std::string_view> names;
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(name(i));
    all += (i > 0 ? ", " : "") + std::string(names.back());
  }
  const std::string word = what.substr(what.rfind(' ') + 1);
  const auto near = jobfile::nearest(word, names);
  return usage(what + ": unknown" +
               (near ? ", did you mean " + std::string(*near) + "? There are " : "; there are ") +
               all);
}

Result<Operation> read_operation(const BenchOptions& options) {
  const auto& all = measure::all_operations();
  if (options.pairs) {
    if (options.operation.empty() || options.operation == "send_recv") return Operation::send_recv;
    return usage("--pairs measures send_recv between two nodes at a time, not " +
                 options.operation);
  }
  if (const auto known = measure::operation_named(options.operation)) return *known;
  if (options.operation.empty()) {
    return usage(
        "no operation given; for example: dlaunch bench all_reduce\n"
        "         try: dlaunch bench --help");
  }
  return unknown("operation " + options.operation, all.size(),
                 [&](std::size_t i) { return name_of(all[i]); });
}

Result<collectives::DataType> read_type(const std::string& name) {
  using collectives::DataType;
  if (const auto known = collectives::data_type_named(name)) return *known;
  // The names of nccl-tests.
  if (name == "float") return DataType::float32;
  if (name == "double") return DataType::float64;
  if (name == "half") return DataType::float16;
  return unknown("--type " + name, collectives::kDataTypeCount,
                 [](std::size_t i) { return collectives::name_of(static_cast<DataType>(i)); });
}

Result<collectives::ReduceOp> read_op(const std::string& name) {
  using collectives::ReduceOp;
  if (const auto known = collectives::reduce_op_named(name)) return *known;
  return unknown("--op " + name, collectives::kReduceOpCount,
                 [](std::size_t i) { return collectives::name_of(static_cast<ReduceOp>(i)); });
}

Result<std::uint64_t> read_bytes(const char* option, const std::optional<std::string>& text,
                                 const char* otherwise) {
  const auto size = measure::read_size(text.value_or(otherwise));
  if (!size) return usage(std::string(option) + ": " + size.error().message);
  return *size;
}

Result<measure::SizeSeries> read_series(const BenchOptions& options, std::uint64_t type_size) {
  const auto first = read_bytes("--min-bytes", options.min_bytes, options.pairs ? kPairsSize : "8");
  // --min-bytes alone may exceed the default of --max-bytes.
  const std::string least = options.min_bytes.value_or("8");
  const auto last =
      read_bytes("--max-bytes", options.max_bytes, options.pairs ? least.c_str() : "64M");
  const auto step = read_bytes("--step-bytes", options.step_bytes, "0");
  for (const auto* size : {&first, &last, &step}) {
    if (!*size) return tl::unexpected(size->error());
  }
  measure::SizeSeries series{*first, *last, options.factor.value_or(2), *step};
  if (options.pairs) series.last = series.first;
  const auto sizes = measure::sizes_of(series, type_size);
  if (!sizes) return usage(sizes.error().message);
  series.last = sizes->back();  // --max-bytes may lie between two sizes
  return series;
}

/// Options without effect are mistakes.
Status check_combination(const BenchOptions& options, Operation operation) {
  const std::string name(name_of(operation));
  if (options.op && !reduces(operation)) return usage("--op: " + name + " reduces nothing");
  if (options.root && !has_root(operation)) return usage("--root: " + name + " has no root");
  const bool sized = options.min_bytes || options.max_bytes || options.step_bytes ||
                     options.factor || options.type;
  if (sized && !has_size(operation))
    return usage(name + " moves no data: leave out --type and the size options");
  if (options.step_bytes && options.factor)
    return usage("--step-bytes and --step-factor: give one of them");
  if (options.check && options.no_check) return usage("--check and --no-check: give one of them");
  if (options.pairs && (options.max_bytes || options.factor || options.step_bytes))
    return usage("--pairs measures one size: give it as --min-bytes");
  return {};
}

Result<std::uint64_t> read_timeout(const std::optional<std::string>& text) {
  if (!text) return std::uint64_t{60'000};
  const auto limit = jobfile::parse_duration(*text);
  if (!limit || *limit < kShortestTimeout)
    return usage("--timeout " + *text + ": expected a time of 1s or more, for example 30s or 5m");
  return static_cast<std::uint64_t>(limit->count());
}

Result<MeasureBackend> read_backend(const std::string& name) {
  if (name == "auto") return MeasureBackend::automatic;
  if (name == "mpi") return MeasureBackend::mpi;
  if (name == "nccl") return MeasureBackend::nccl;
  return usage("--backend " + name + ": expected auto, mpi or nccl");
}

void add_bench_options(CommandOptions command, BenchOptions& options) {
  command.positional("OPERATION", options.operation,
                     "all_reduce, all_gather, reduce_scatter, broadcast,\nreduce, all_to_all, "
                     "send_recv or barrier");
  command.value("-b,--min-bytes", options.min_bytes, "Smallest size, such as 8 or 64K (default: 8)",
                "SIZE");
  command.value("-e,--max-bytes", options.max_bytes,
                "Largest size, such as 1M or 4G (default: 64M)", "SIZE");
  command.number("-f,--step-factor", options.factor,
                 "Multiply the size by N each time (default: 2)", "N");
  command.value("-i,--step-bytes", options.step_bytes, "Or add this many bytes each time", "SIZE");
  command.number("-N,--iterations,--iters", options.iterations,
                 "Timed calls of each size (default: 20)", "N");
  command.number("-w,--warmup,--warmup-iters", options.warmup,
                 "Untimed calls before the timed ones (default: 5)", "N");
  command.value("--type", options.type, "Element type, such as bfloat16 (default: float32)",
                "TYPE");
  command.value("--op", options.op, "Reduction: sum, prod, min, max or avg (default: sum)", "OP");
  command.number("--root", options.root, "Root of broadcast and reduce (default: 0)", "RANK");
  command.flag("--check", options.check,
               "Compare every element with the expected value\n(default)");
  command.flag("--no-check", options.no_check, "Do not compare");
  command.value("--backend", options.backend,
                "Library to measure (default: auto: NCCL where\nevery node has a GPU, else MPI)",
                "auto|mpi|nccl");
  command.value("--timeout", options.timeout, "Time limit of one call (default: 60s)", "TIME");
  command.flag("--pairs", options.pairs,
               "Measure each pair of nodes, to find a slow link;\none size, --min-bytes "
               "(default: 4M)");
}

/// Errors: kUsage, with the first mistake.
Result<BenchRequest> read_bench_options(const BenchOptions& options) {
  const auto operation = read_operation(options);
  if (!operation) return tl::unexpected(operation.error());
  const auto type = read_type(options.type.value_or("float32"));
  if (!type) return tl::unexpected(type.error());
  const auto op = read_op(options.op.value_or("sum"));
  if (!op) return tl::unexpected(op.error());
  if (const Status status = check_combination(options, *operation); !status)
    return tl::unexpected(status.error());
  const auto backend = read_backend(options.backend);
  if (!backend) return tl::unexpected(backend.error());
  const auto timeout = read_timeout(options.timeout);
  if (!timeout) return tl::unexpected(timeout.error());
  BenchRequest request;
  request.type_size = collectives::size_of(*type);
  const auto series = read_series(options, request.type_size);
  if (!series) return tl::unexpected(series.error());
  const std::uint32_t iterations = options.iterations.value_or(20);
  if (iterations < 1 || iterations > kMostIterations)
    return usage("--iterations " + std::to_string(iterations) + ": expected 1 to 1000000");
  request.mode = options.pairs ? "pairs" : "bench";
  request.backend = *backend;
  request.root = options.root.value_or(0);
  request.most_bytes = has_size(*operation) ? series->last : 0;
  measure::BenchHeader& header = request.header;
  header.operation = *operation;
  header.type = has_size(*operation) ? std::string(collectives::name_of(*type)) : "-";
  header.op = reduces(*operation) ? std::string(collectives::name_of(*op)) : "";
  header.root = has_root(*operation) ? static_cast<std::int64_t>(request.root) : -1;
  header.warmup = options.warmup.value_or(5);
  header.iterations = iterations;
  request.settings.set("operation", std::string(name_of(*operation)))
      .set("type", std::string(collectives::name_of(*type)))
      .set("op", std::string(collectives::name_of(*op)))
      .set("first", series->first)
      .set("last", series->last)
      .set("factor", series->factor)
      .set("step", series->step)
      .set("root", request.root)
      .set("warmup", header.warmup)
      .set("iterations", header.iterations)
      .set("check", options.no_check ? 0 : 1)
      .set("timeout_ms", *timeout);
  return request;
}

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
    std::fprintf(stderr, "dlaunch: the logs of the run were removed; --keep keeps them\n");
  if (ran->exit_code == exit_code::kOk) return finish(*this, is_pairs, result, "");
  if (result.has_begun()) (void)finish(*this, is_pairs, result, failure_text(*ran));
  return ran->exit_code;
}

}  // namespace

Subcommand bench_command() {
  auto bench = std::make_shared<BenchCommand>();
  const auto describe = [bench](CommandOptions options) {
    add_bench_options(options, bench->options);
    options.value("--plot", bench->plot, "Also write a plot (SVG)", "FILE");
    options.flag("--json", bench->json, "As JSON, with percentiles");
    options.flag("--keep", bench->keep, "Keep the run folder, and print its path");
    add_host_options(options, bench->hosts);
    options.count("-v,--verbose", bench->verbosity, "What dlaunch does, and how long it takes");
  };
  return {"bench", "Measure collectives between hosts: time, bandwidth, correctness", kFooter,
          describe, [bench] { return bench->execute(); }};
}

}  // namespace dlaunch
