#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

#include "cli/child_run.h"
#include "cli/commands.h"
#include "cli/hosts.h"
#include "cli/job_options.h"
#include "cli/plot_file.h"
#include "cli/preflight.h"
#include "cli/print.h"
#include "cli/run_options.h"
#include "fabric/node_facts.h"
#include "os/own_machine.h"
#include "report/plain_text.h"
#include "report/scale_plot.h"
#include "report/scaling.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch scale job.yaml --hosts gpu[01-08]       on 1, 2, 4 and 8 nodes\n"
    "  dlaunch scale job.yaml --by ranks               with 1, 2, 4 ... ranks, one a GPU\n"
    "  dlaunch scale job.yaml --counts 1,3,6 --repeats 3\n"
    "  dlaunch scale job.yaml --json -- --max-steps 200\n"
    "\n"
    "The throughput is what the job prints, found by its key metrics:\n"
    "  metrics: {throughput: 'images/sec: ([0-9.]+)'}\n"
    "and else comes from the time that the ranks ran. Every run is an ordinary one:\n"
    "dlaunch runs lists it. A size that fails is a row that says so; the others go\n"
    "on, and the exit code is that of the first failure.";

std::string content_of(int fd) {
  std::string text;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

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
    // In rounds over all sizes: what changes on the machines meanwhile reaches all of them.
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
    // Last: the table is not to be lost with the picture.
    if (const Status drawn = plot.empty() ? Status() : write_plot_file(plot, plot_of(*table));
        !drawn)
      printed = print_error(drawn.error());
    return exit_code == exit_code::kOk ? printed : exit_code;
  }

 private:
  struct OneRun {
    int exit_code = 0;
    bool told_to_stop = false;
    ScaleRun figures;
  };

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
    const auto measure = make_measure(spec);
    if (!measure) return tl::unexpected(measure.error());
    table.measure = *measure;
    const auto sizes =
        counts.empty() ? doubling_counts(most(spec, table.by_nodes)) : parse_counts(counts);
    if (!sizes) return tl::unexpected(sizes.error());
    for (const std::uint32_t count : *sizes) table.rows.push_back({count, {}});
    return table;
  }

  [[nodiscard]] Status check(const JobSpec& spec, bool by_nodes) const {
    if (!by.empty() && by != "nodes" && by != "ranks")
      return fail(exit_code::kUsage, "--by: \"" + by + "\" is neither nodes nor ranks");
    if (repeats && *repeats == 0) return fail(exit_code::kUsage, "--repeats: at least 1");
    if (by_nodes && spec.processes)
      return fail(exit_code::kUsage,
                  "the job has a number of processes in all (" +
                      as_typed(spec, "processes", std::to_string(*spec.processes)) +
                      "), so more nodes are no more work\n         try: processes_per_node in its "
                      "place, or --by ranks");
    if (!by_nodes && !spec.roles.empty())
      return fail(exit_code::kUsage,
                  "the roles of the job say how many ranks there are, so it has "
                  "one size only\n         try: --by nodes");
    return {};
  }

  [[nodiscard]] Result<ScaleMeasure> make_measure(const JobSpec& spec) const {
    ScaleMeasure measure;
    measure.strong = strong;
    if (over == "rank0") {
      measure.over = ScaleMeasure::Over::rank0;
    } else if (over == "each") {
      measure.over = ScaleMeasure::Over::each;
    } else if (over != "sum") {
      return fail(exit_code::kUsage, "--over: \"" + over + "\" is none of sum, rank0, each");
    }
    if (!metric.empty()) {
      if (!spec.metrics.contains(metric))
        return fail(exit_code::kUsage, "--metric: the job has no metrics." + metric);
      measure.metric = metric;
    } else if (spec.metrics.contains("throughput")) {
      measure.metric = "throughput";
    } else if (spec.metrics.size() == 1) {
      measure.metric = spec.metrics.begin()->first;
    } else if (!spec.metrics.empty()) {
      return fail(exit_code::kUsage,
                  "none of the job's metrics is called throughput: say which with --metric NAME");
    }
    return measure;
  }

  /// The largest size where --counts says none.
  static std::uint32_t most(const JobSpec& spec, bool by_nodes) {
    const auto hosts =
        static_cast<std::uint32_t>(std::max<std::size_t>(spec.hosts.hosts.size(), 1));
    if (by_nodes)
      return spec.nodes ? std::min(static_cast<std::uint32_t>(spec.nodes->max), hosts) : hosts;
    if (spec.processes) return static_cast<std::uint32_t>(*spec.processes);
    const auto gpus = fabric::read_gpus("").size();
    return static_cast<std::uint32_t>(
        std::max<std::size_t>(gpus > 0 ? gpus : allowed_cpus(0).size(), 1));
  }

  [[nodiscard]] Result<OneRun> run_once(std::uint32_t count, const ScaleTable& table,
                                        const std::string& folder) const {
    OneRun run;
    auto loaded = load(sized(count, table.by_nodes), folder, false);
    if (!loaded) {
      run.exit_code = loaded.error().exit_code;
      run.figures.failure = loaded.error().message;
      return run;
    }
    settle_without_check(loaded->spec);
    loaded->spec.stdin_for = StdinFor::none;
    loaded->spec.logs.console = Logs::Console::none;
    RunOptions options = run_options(std::move(*loaded), folder);
    options.quiet = true;
    const UniqueFd summary(::memfd_create("summary", MFD_CLOEXEC));
    if (!summary) return fail_errno(exit_code::kInternal, "memfd_create", errno);
    options.summary_copy = summary.get();
    const auto child = run_in_child(options);
    if (!child) return tl::unexpected(child.error());
    run.exit_code = child->exit_code;
    run.told_to_stop = child->told_to_stop;
    const auto figures = parse_run_figures(content_of(summary.get()));
    if (figures) {
      run.figures = scale_run(*figures, table.measure);
    } else {
      run.figures.failure = "exit code " + std::to_string(run.exit_code) + ", see above";
    }
    if (run.exit_code == exit_code::kOk && !run.figures.throughput)
      run.exit_code = exit_code::kJobFile;
    return run;
  }

  void tell(std::uint32_t count, const ScaleRun& run, const ScaleTable& table) const {
    if (quiet) return;
    std::string line = std::to_string(count) + (table.by_nodes ? " node" : " rank") +
                       (count == 1 ? "" : "s") + ": ";
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
                  "Grow the nodes (all hosts of the job by and by;\nthe default with several), or "
                  "the ranks",
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
        "What the ranks print: parts of the whole (sum,\nthe default), the whole (rank0), "
        "or one rank's\n(each: times the ranks)",
        "sum|rank0|each");
    options.flag(
        "--strong", scale->strong,
        "Without a metric: the work of the whole job is\nthe same at every size (else that "
        "of a rank is)");
    options.value("--plot", scale->plot, "Draw it, too: an SVG file", "FILE");
    options.flag("--json", scale->json, "As JSON");
    options.flag("-q,--quiet", scale->quiet, "Only the table, and failures");
  };
  return {"scale",
          "Run a job at several sizes: how does it scale?",
          kFooter,
          describe,
          [scale] { return scale->execute(); },
          true};
}

}  // namespace dlaunch
