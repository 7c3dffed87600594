#include <cstdio>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "measure/check/preflight.h"
#include "measure/run/plot_file.h"
#include "measure/scale/scale_run.h"
#include "os/own_machine.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch scale job.yaml --hosts gpu[01-08]       on 1, 2, 4 and 8 nodes\n"
    "  dlaunch scale job.yaml --by ranks               with 1, 2, 4 ... ranks, one per GPU\n"
    "  dlaunch scale job.yaml --counts 1,3,6 --repeats 3\n"
    "  dlaunch scale job.yaml --json -- --max-steps 200\n"
    "\n"
    "The throughput is a number that the job prints, found by its key metrics:\n"
    "  metrics: {throughput: 'images/sec: ([0-9.]+)'}\n"
    "Without metrics it is derived from how long the ranks ran. Every run is an\n"
    "ordinary one, which dlaunch runs lists. A size that fails gets a row that says so;\n"
    "the others still run, and the exit code is that of the first failure.";

struct ScaleCommand {
  JobOptions job;
  std::string by;
  std::string counts;
  std::string metric;
  std::string over = "sum";
  std::string plot;
  std::optional<std::uint32_t> repeats;
  bool strong = false;
  bool json = false;
  bool quiet = false;

  int execute() const {
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    auto table = make_table(*folder);
    if (!table) return print_error(table.error());
    if (const Status ok = plot.empty() ? Status() : check_plot_file(plot); !ok)
      return print_error(ok.error());
    int exit_code = exit_code::kOk;
    const std::uint32_t rounds = repeats.value_or(1);
    // Each round runs all sizes, so that a change of the machines' speed affects all of them.
    for (std::uint32_t round = 0; round < rounds; ++round) {
      for (ScaleRow& row : table->rows) {
        const auto run = run_once(row.count, *table, *folder);
        if (!run) return print_error(run.error());
        if (run->told_to_stop) return run->exit_code;
        if (exit_code == exit_code::kOk) exit_code = run->exit_code;
        tell(row.count, run->figures, *table);
        row.runs.push_back(run->figures);
      }
    }
    int printed = print_text(json ? scale_json(*table) : scale_text(*table));
    // Last, so that a plot that cannot be written does not lose the table.
    if (const Status drawn = plot.empty() ? Status() : write_plot_file(plot, plot_of(*table));
        !drawn)
      printed = print_error(drawn.error());
    return exit_code == exit_code::kOk ? printed : exit_code;
  }

 private:
  /// The job at that size.
  [[nodiscard]] JobOptions sized(std::uint32_t count, bool by_nodes) const {
    JobOptions options = job;
    (by_nodes ? options.nodes : options.processes) = std::to_string(count);
    return options;
  }

  [[nodiscard]] Result<LoadedJob> load(const JobOptions& options, const std::string& folder,
                                       bool is_first) const {
    auto loaded = load_job(options, folder);
    if (!loaded) return tl::unexpected(loaded.error());
    if (const Status hosts = resolve_job_hosts(options, quiet || !is_first, *loaded); !hosts)
      return tl::unexpected(hosts.error());
    return loaded;
  }

  [[nodiscard]] Result<ScaleTable> make_table(const std::string& folder) const {
    const auto loaded = load(job, folder, true);
    if (!loaded) return tl::unexpected(loaded.error());
    const JobSpec& spec = loaded->spec;
    ScaleTable table;
    table.name = spec.name;
    table.by_nodes = by.empty() ? spec.hosts.hosts.size() > 1 : by == "nodes";
    if (const Status ok = check(spec, table.by_nodes); !ok) return tl::unexpected(ok.error());
    const auto chosen = read_over();
    if (!chosen) return tl::unexpected(chosen.error());
    const auto measure = choose_measure(spec, metric, *chosen, strong);
    if (!measure) return tl::unexpected(measure.error());
    table.measure = *measure;
    const auto sizes =
        counts.empty() ? doubling_counts(largest_size(spec, table.by_nodes)) : parse_counts(counts);
    if (!sizes) return tl::unexpected(sizes.error());
    for (const std::uint32_t count : *sizes) table.rows.push_back({count, {}});
    return table;
  }

  [[nodiscard]] Status check(const JobSpec& spec, bool by_nodes) const {
    if (!by.empty() && by != "nodes" && by != "ranks")
      return fail(exit_code::kUsage, "--by \"" + by + "\": expected nodes or ranks");
    if (repeats && *repeats == 0) return fail(exit_code::kUsage, "--repeats: expected 1 or more");
    if (by_nodes && spec.processes)
      return fail(exit_code::kUsage,
                  "the job sets the total number of processes (" +
                      as_typed(spec, "processes", std::to_string(*spec.processes)) +
                      "), so more nodes do not add work\n         try: processes_per_node instead, "
                      "or --by ranks");
    if (!by_nodes && !spec.roles.empty())
      return fail(exit_code::kUsage,
                  "the roles of the job fix the number of ranks, so it has only one "
                  "size\n         try: --by nodes");
    return {};
  }

  [[nodiscard]] Result<ScaleMeasure::Over> read_over() const {
    if (over == "sum") return ScaleMeasure::Over::sum;
    if (over == "rank0") return ScaleMeasure::Over::rank0;
    if (over == "each") return ScaleMeasure::Over::each;
    return fail(exit_code::kUsage, "--over \"" + over + "\": expected sum, rank0 or each");
  }

  [[nodiscard]] Result<SizedRun> run_once(std::uint32_t count, const ScaleTable& table,
                                          const std::string& folder) const {
    auto loaded = load(sized(count, table.by_nodes), folder, false);
    if (!loaded) {
      SizedRun run{loaded.error().exit_code, false, {}};
      run.figures.failure = loaded.error().message;
      return run;
    }
    settle_without_check(loaded->spec);
    return run_sized(run_options(std::move(*loaded), folder), table.measure);
  }

  void tell(std::uint32_t count, const ScaleRun& run, const ScaleTable& table) const {
    if (quiet) return;
    std::string line = counted(count, table.by_nodes ? "node" : "rank") + ": ";
    if (run.throughput) {
      char value[48];
      static_cast<void>(std::snprintf(value, sizeof value, "%.6g", *run.throughput));
      line += value + (table.measure.metric.empty() ? std::string() : ' ' + table.measure.metric);
    } else {
      line += "failed";
    }
    if (!run.run.empty()) line += ", run " + run.run;
    std::fprintf(stderr, "dlaunch: %s\n", plain_line(line).c_str());
  }
};

}  // namespace

Subcommand scale_command(const TrailingArguments& arguments) {
  auto scale = std::make_shared<ScaleCommand>();
  scale->job.arguments = arguments;
  const auto describe = [scale](CommandOptions options) {
    add_job_options(options, scale->job);
    options.value("--by", scale->by,
                  "Grow the number of nodes (default with several\nhosts) or of ranks",
                  "nodes|ranks");
    options.value("--counts", scale->counts,
                  "Sizes (default: 1, 2, 4 ... up to all nodes, or\n-n, or the GPUs, or the CPUs "
                  "here)",
                  "N,N,...");
    options.number("--repeats", scale->repeats, "Runs of each size (default: 1)", "N");
    options.value("--metric", scale->metric,
                  "Which of the job's metrics (default: throughput,\nor the only one)", "NAME");
    options.value(
        "--over", scale->over,
        "What the ranks print: their parts of the\nthroughput (sum, the default), the total\n"
        "(rank0), or the average per rank (each)",
        "sum|rank0|each");
    options.flag("--strong", scale->strong,
                 "Without a metric: the total work of the job is the\nsame at every size (default: "
                 "the work of each rank)");
    options.value("--plot", scale->plot, "Also write a plot (SVG)", "FILE");
    options.flag("--json", scale->json, "As JSON");
    options.flag("-q,--quiet", scale->quiet, "Only the table and failures");
  };
  return {"scale",
          "Run a job at several sizes: how does it scale?",
          kFooter,
          describe,
          [scale] { return scale->execute(); },
          true};
}

}  // namespace dlaunch
