#include "cli/fabric_run.h"

#include <algorithm>
#include <optional>

#include "cli/measured_run.h"
#include "launch/terminal_prompt.h"

extern char** environ;

namespace dlaunch {

namespace {

// Longer than what the ranks give themselves for questions (budget_ms) and a start of many nodes.
constexpr Duration kRunLimit = std::chrono::minutes(3);
constexpr std::uint64_t kCallLimitMs = 30000;
constexpr std::uint64_t kBudgetMs = 30000;

/// Why the node cannot measure by this back-end; empty: it can.
std::string refusal(const CheckedNode& node, const std::string& backend) {
  for (const std::string& line : node.condition.collectives) {
    if (!line.starts_with(backend + ": ")) continue;
    const std::string what = line.substr(backend.size() + 2);
    return what == "ready" ? "" : what;
  }
  return "dlaunch collectives --probe says nothing there";
}

/// Of the first node that cannot; empty: all can.
std::string refusal_of_any(const std::vector<CheckedNode>& nodes,
                           const std::vector<std::uint32_t>& good, const std::string& backend) {
  for (const std::uint32_t i : good) {
    const std::string why = refusal(nodes[i], backend);
    if (!why.empty()) return nodes[i].name + ": " + why;
  }
  return {};
}

/// What stays of the job: where it runs, how it is reached, and its settings of the network.
JobSpec measuring_job(const JobSpec& job, const std::vector<std::uint32_t>& nodes,
                      MeasureBackend backend) {
  JobSpec spec;
  spec.name = "check";
  spec.hosts = job.hosts;
  if (!job.hosts.hosts.empty()) {
    spec.hosts.hosts.clear();
    for (const std::uint32_t i : nodes) spec.hosts.hosts.push_back(job.hosts.hosts[i]);
  }
  // One rank of each node is what measures; slots are the job's own.
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
  // Ranks that wait for slower ones are not to take their cores, where nodes share a machine.
  spec.env.try_emplace("OMPI_MCA_mpi_yield_when_idle", "1");
  spec.framework = Framework::mpi;
  spec.mpi.oversubscribe = true;
  spec.binding.cpus = Binding::Cpus::none;
  spec.workdir = "/";
  spec.logs.console = Logs::Console::rank0;
  spec.logs.prefix = Logs::Prefix::never;
  spec.processes_per_node.kind =
      backend == MeasureBackend::nccl ? ProcessesPerNode::Kind::gpu : ProcessesPerNode::Kind::count;
  spec.processes_per_node.count = 1;
  measure::Settings settings;
  settings.set("timeout_ms", kCallLimitMs).set("budget_ms", kBudgetMs);
  spec.command.argv = collectives_words(backend, "check", settings);
  return spec;
}

}  // namespace

Result<MeasureBackend> choose_backend(const std::vector<CheckedNode>& nodes,
                                      const std::vector<std::uint32_t>& good) {
  const bool all_have_gpus = std::all_of(
      good.begin(), good.end(), [&](std::uint32_t i) { return !nodes[i].facts.gpus.empty(); });
  if (all_have_gpus && !good.empty() && refusal_of_any(nodes, good, "nccl").empty())
    return MeasureBackend::nccl;
  const std::string why = refusal_of_any(nodes, good, "mpi");
  if (!why.empty()) return fail(exit_code::kPreflight, why);
  return MeasureBackend::mpi;
}

Result<measure::CheckData> run_fabric_check(const JobSpec& spec,
                                            const std::vector<std::uint32_t>& nodes,
                                            MeasureBackend backend,
                                            const std::string& current_folder, int verbosity) {
  RunOptions options;
  options.spec = measuring_job(spec, nodes, backend);
  options.current_folder = current_folder;
  options.environment = environment_from_block(environ);
  options.quiet = true;
  options.verbosity = verbosity;
  options.may_ask = can_ask_on_terminal();
  measure::CheckData data;
  data.measured.nodes = static_cast<int>(nodes.size());
  const auto run = read_run(std::move(options), false, [&](const std::string& line) -> Status {
    const auto record = measure::read_record(line);
    if (!record) return tl::unexpected(record.error());
    add_record(*record, data);
    return {};
  });
  if (!run) return tl::unexpected(run.error());
  if (run->exit_code != exit_code::kOk)
    return fail(run->exit_code, "exit code " + std::to_string(run->exit_code) + ", see " +
                                    run->run_folder + " and the lines above");
  return data;
}

}  // namespace dlaunch
