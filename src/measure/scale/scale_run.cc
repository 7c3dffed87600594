#include "measure/scale/scale_run.h"

#include <algorithm>
#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

#include "fabric/node_facts.h"
#include "measure/run/child_run.h"
#include "os/own_machine.h"
#include "os/unique_fd.h"

namespace dlaunch {

namespace {

std::string content_of(int fd) {
  std::string text;
  char buffer[16384];
  ssize_t got = 0;
  while ((got = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()))) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

}  // namespace

Result<ScaleMeasure> choose_measure(const JobSpec& spec, const std::string& metric,
                                    ScaleMeasure::Over over, bool strong) {
  ScaleMeasure measure{metric, over, strong};
  if (!metric.empty()) {
    if (!spec.metrics.contains(metric))
      return fail(exit_code::kUsage, "--metric: the job has no metrics." + metric);
  } else if (spec.metrics.contains("throughput")) {
    measure.metric = "throughput";
  } else if (spec.metrics.size() == 1) {
    measure.metric = spec.metrics.begin()->first;
  } else if (!spec.metrics.empty()) {
    return fail(exit_code::kUsage,
                "none of the job's metrics is called throughput: choose one with --metric NAME");
  }
  return measure;
}

std::uint32_t largest_size(const JobSpec& spec, bool by_nodes) {
  const auto hosts = static_cast<std::uint32_t>(std::max<std::size_t>(spec.hosts.hosts.size(), 1));
  if (by_nodes)
    return spec.nodes ? std::min(static_cast<std::uint32_t>(spec.nodes->max), hosts) : hosts;
  if (spec.processes) return static_cast<std::uint32_t>(*spec.processes);
  const auto gpus = fabric::read_gpus("").size();
  return static_cast<std::uint32_t>(
      std::max<std::size_t>(gpus > 0 ? gpus : allowed_cpus(0).size(), 1));
}

Result<SizedRun> run_sized(RunOptions options, const ScaleMeasure& measure) {
  options.spec.stdin_for = StdinFor::none;
  options.spec.pty.reset();
  options.spec.logs.console = Logs::Console::none;
  options.quiet = true;
  const UniqueFd summary(::memfd_create("summary", MFD_CLOEXEC));
  if (!summary) return fail_errno(exit_code::kInternal, "memfd_create", errno);
  options.summary_copy = summary.get();
  const auto child = run_in_child(options);
  if (!child) return tl::unexpected(child.error());
  SizedRun run{child->exit_code, child->told_to_stop, {}};
  if (const auto figures = parse_run_figures(content_of(summary.get()))) {
    run.figures = scale_run(*figures, measure);
  } else {
    run.figures.failure = "exit code " + std::to_string(run.exit_code) + ", see above";
  }
  if (run.exit_code == exit_code::kOk && !run.figures.throughput)
    run.exit_code = exit_code::kJobFile;
  return run;
}

}  // namespace dlaunch
