#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/print.h"
#include "measure/check/check_output.h"
#include "measure/check/check_this_machine.h"
#include "measure/check/cluster_check.h"
#include "os/own_machine.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch check --hosts gpu[01-16]         are these nodes, and the network between\n"
    "                                           them, healthy?\n"
    "  dlaunch check job.yaml                   likewise, and do they have what the job needs?\n"
    "  dlaunch check --hosts gpu[01-16] --no-fabric    without traffic between them\n"
    "  dlaunch check --hostfile hosts --json    for monitoring\n"
    "  dlaunch check --local                    this machine alone, in a few seconds\n"
    "  dlaunch check --local --expect-gpus 8    fewer than 8 GPUs is a fault\n"
    "\n"
    "Exit code: 0: no fault found; 75: a node or the network between nodes is bad;\n"
    "64 usage, 65 job file.";

struct CheckCommand {
  JobOptions job;
  bool json = false;
  bool no_fabric = false;
  std::optional<std::string> min_busbw;
  std::optional<std::string> azure_size;
  int verbosity = 0;
  bool local = false;
  std::optional<std::uint32_t> expected_gpus;

  [[nodiscard]] int check_local() const {
    const LocalCheck check = check_this_machine(expected_gpus);
    const int printed = print_text(json ? local_check_json(check) : local_check_text(check));
    return local_findings(check).empty() ? printed : exit_code::kPreflight;
  }

  int execute() const {
    if (local && !is_alone())
      return print_error(
          {exit_code::kUsage,
           "--local checks this machine alone: it takes only --json and --expect-gpus"});
    if (local) return check_local();
    const auto folder = current_folder();
    if (!folder) return print_error(folder.error());
    ClusterCheckOptions options;
    options.fabric = !no_fabric;
    options.current_folder = *folder;
    options.verbosity = verbosity;
    options.expected_gpus = expected_gpus;
    options.job_needs = !job.file.empty();
    JobOptions wanted = job;
    if (job.file.empty()) wanted.arguments = {"true"};
    auto loaded = load_job(wanted, *folder);
    if (!loaded) return print_error(loaded.error());
    options.min_busbw = loaded->spec.preflight.min_busbw_gbs;
    if (const Status read = read_min_busbw(options); !read) return print_error(read.error());
    if (const Status read = read_azure_size(*loaded, options); !read)
      return print_error(read.error());
    if (const Status hosts = resolve_job_hosts(wanted, json, *loaded); !hosts)
      return print_error(hosts.error());
    // Checks all hosts that were named, even if the job would use fewer.
    loaded->spec.nodes.reset();
    loaded->spec.spares = 0;
    const auto report = check_cluster(loaded->spec, options);
    if (!report) return print_error(report.error());
    return show(*report);
  }

 private:
  /// Whether no option is about hosts, a job or traffic.
  [[nodiscard]] bool is_alone() const {
    const bool no_hosts = !job.hosts && !job.hostfile && !job.include && !job.exclude && !job.ssh;
    const bool no_numbers = job.processes.empty() && job.per_node.empty() && job.nodes.empty();
    const bool no_job = job.file.empty() && job.sets.empty() && job.inputs.empty() &&
                        job.outputs.empty() && job.step.empty() && job.arguments.empty();
    return no_hosts && no_numbers && no_job && !job.no_container && !no_fabric && !min_busbw &&
           !azure_size;
  }

  Status read_min_busbw(ClusterCheckOptions& options) const {
    if (!min_busbw) return {};
    if (*min_busbw == "auto") {  // overrides the job
      options.min_busbw.reset();
      return {};
    }
    char* end = nullptr;
    const double value = std::strtod(min_busbw->c_str(), &end);
    if (end == min_busbw->c_str() || *end != '\0' || !(value > 0) || value > 1e6) {
      return fail(exit_code::kUsage, "--min-busbw " + *min_busbw +
                                         ": expected GB/s, for example --min-busbw 180, or auto");
    }
    options.min_busbw = value;
    return {};
  }

  /// A size that a job file names may be unknown; one from the command line may not.
  Status read_azure_size(const LoadedJob& loaded, ClusterCheckOptions& options) const {
    if (!azure_size && loaded.azure_size.empty()) return {};
    auto size = fabric::azure_size(azure_size ? *azure_size : loaded.azure_size);
    if (size) options.azure_size = std::move(*size);
    return size || !azure_size ? Status() : tl::unexpected(size.error());
  }

  int show(const CheckReport& report) const {
    const int code = is_bad(report) ? exit_code::kPreflight : exit_code::kOk;
    const int printed = print_text(json ? check_json(report) : check_text(report));
    if (!json) {
      std::fprintf(stderr, "dlaunch: %s%s\n", check_verdict(report).c_str(),
                   code == exit_code::kOk ? "" : " (exit 75)");
    }
    return code != exit_code::kOk ? code : printed;
  }
};

}  // namespace

Subcommand check_command() {
  auto check = std::make_shared<CheckCommand>();
  const auto describe = [check](CommandOptions options) {
    add_job_options(options, check->job);
    options.flag("--json", check->json, "The result as JSON");
    options.flag("--no-fabric", check->no_fabric, "Send no traffic between nodes");
    options.value("--min-busbw", check->min_busbw,
                  "Minimum bus bandwidth of all_reduce\n(default: auto, from the links' rates)",
                  "GB/s");
    options.value("--azure-size", check->azure_size,
                  "The nodes' VM size, to compare its InfiniBand with\nthe hardware that is found",
                  "NAME");
    options.flag("--local", check->local,
                 "This machine alone: what it has, its health,\nhow fast it is");
    options.number("--expect-gpus", check->expected_gpus, "GPUs that each node must have", "N");
    options.count("-v,--verbose", check->verbosity,
                  "What dlaunch does and how long it takes; keeps the\nrun folder of a measurement "
                  "that failed");
  };
  return {"check", "Find bad nodes and slow links before a job does", kFooter, describe,
          [check] { return check->execute(); }};
}

}  // namespace dlaunch
