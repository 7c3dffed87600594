#include "measure/check/fabric_run.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>

#include "measure/run/measured_run.h"
#include "model/result.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

/// Whether the first rank's end cannot be the result of another rank's end. A rank that loses
/// another aborts or exits with 1, and its end may arrive first; a rank that waits for another ends
/// with kTimeLimit.
bool is_own_end(const RunEnding& ending) {
  if (ending.exit_code == exit_code::kTimeLimit) return false;
  if (!ending.first_error.empty()) return true;
  if (!ending.first_status) return ending.exit_code == exit_code::kNodeLost;
  const ExitStatus& status = *ending.first_status;
  const std::array signals{SIGKILL, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  const std::array codes{exit_code::kPreflight, exit_code::kCannotExecute, exit_code::kNotFound};
  return status.signaled ? contains(signals, status.value) : contains(codes, status.value);
}

std::optional<std::uint32_t> index_of(const std::string& node,
                                      const std::vector<std::string>& names) {
  if (node.empty() || std::count(names.begin(), names.end(), node) != 1) return std::nullopt;
  return static_cast<std::uint32_t>(std::find(names.begin(), names.end(), node) - names.begin());
}

// Room for the ranks' own limit (budget_ms) and for starting them on many nodes.
constexpr Duration kRunLimit = std::chrono::minutes(3);
constexpr std::uint64_t kCallLimitMs = 30000;
constexpr std::uint64_t kBudgetMs = 30000;

/// Takes from the job only its hosts, how to connect to them, and its settings for the network.
JobSpec measuring_job(const JobSpec& job, const std::vector<std::uint32_t>& nodes,
                      MeasureBackend backend) {
  JobSpec spec;
  spec.name = "check";
  spec.hosts = job.hosts;
  if (!job.hosts.hosts.empty()) {
    spec.hosts.hosts.clear();
    for (const std::uint32_t i : nodes) spec.hosts.hosts.push_back(job.hosts.hosts[i]);
  }
  // One rank of each node measures; slots belong to the job.
  for (HostSpec& host : spec.hosts.hosts) host.slots = 0;
  const int count = static_cast<int>(nodes.size());
  spec.nodes = NodeRange{count, count};
  spec.connect = job.connect;
  spec.rendezvous.interface = job.rendezvous.interface;
  spec.timeouts.connect = job.timeouts.connect;
  spec.timeouts.fence_after = job.timeouts.fence_after;
  spec.timeouts.lost_after = job.timeouts.lost_after;
  spec.timeouts.run = kRunLimit;
  spec.timeouts.stop = std::chrono::seconds(5);
  spec.env = job.env;
  spec.env_pass = job.env_pass;
  // If several nodes are one machine, waiting ranks give their core to the others.
  spec.env.try_emplace("OMPI_MCA_mpi_yield_when_idle", "1");
  spec.binding.cpus = Binding::Cpus::none;
  spec.processes_per_node.kind =
      backend == MeasureBackend::nccl ? ProcessesPerNode::Kind::gpu : ProcessesPerNode::Kind::count;
  spec.processes_per_node.count = 1;
  measure::Settings settings;
  settings.set("timeout_ms", kCallLimitMs).set("budget_ms", kBudgetMs);
  spec.command.argv = collectives_words(backend, "check", settings);
  return spec;
}

/// Exit codes that say nothing about the nodes.
bool ends_the_check(int code) {
  const std::array codes{exit_code::kUsage,
                         exit_code::kJobFile,
                         exit_code::kSignalBase + SIGINT,
                         exit_code::kSignalBase + SIGTERM,
                         exit_code::kSignalBase + SIGHUP,
                         exit_code::kSignalBase + SIGQUIT};
  return contains(codes, code);
}

}  // namespace

std::vector<RunCulprit> culprits_of(const RunEnding& ending,
                                    const std::vector<std::string>& names) {
  std::vector<RunCulprit> culprits;
  for (const RunEnding::Lost& lost : ending.lost_nodes) {
    const auto node = index_of(lost.node, names);
    if (!node) continue;
    const std::string what = "it was lost while ranks measured on it";
    culprits.push_back({*node, what + (lost.what.empty() ? "" : ": " + lost.what)});
  }
  if (!culprits.empty() || !is_own_end(ending)) return culprits;
  if (const auto node = index_of(ending.first_node, names))
    culprits.push_back({*node, "its measuring rank failed: the run " + ending_text(ending)});
  return culprits;
}

Result<FabricRun> run_fabric_check(const JobSpec& spec, const std::vector<CheckedNode>& checked,
                                   const std::vector<std::uint32_t>& nodes, MeasureBackend backend,
                                   const std::string& current_folder, int verbosity) {
  RunOptions options;
  options.spec = measuring_job(spec, nodes, backend);
  options.current_folder = current_folder;
  options.verbosity = verbosity;
  FabricRun result;
  result.data.measured.nodes = static_cast<int>(nodes.size());
  const auto keep = verbosity > 0 ? KeepRun::failed : KeepRun::never;
  const auto run =
      measured_run(std::move(options), keep, [&](const measure::Record& record) -> Status {
        add_record(record, result.data);
        return {};
      });
  if (!run) return tl::unexpected(run.error());
  if (run->exit_code == exit_code::kOk) return result;
  result.failure = failure_text(*run) + "; see " +
                   (run->run_folder.empty() ? "" : run->run_folder + " and ") + "the lines above";
  if (ends_the_check(run->exit_code))
    return fail(run->exit_code, "the measuring ranks were ended: " + result.failure);
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const std::uint32_t node : nodes) names.push_back(checked[node].name);
  if (run->ending) result.culprits = culprits_of(*run->ending, names);
  return result;
}

}  // namespace dlaunch
