#include "plan/smoke.h"

#include <algorithm>

#include "plan/visible_gpus.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr int kWithoutGpus = 2;

void shrink_roles(std::vector<RoleSpec>& roles) {
  const bool has_chief = std::any_of(roles.begin(), roles.end(),
                                     [](const RoleSpec& role) { return role.name == "chief"; });
  for (RoleSpec& role : roles) {
    const int most = role.name == "worker" && !has_chief ? 2 : 1;
    role.count = std::min(role.count, most);
    role.nodes.reset();
  }
}

void shrink_counts(JobSpec& spec, const SmokeInput& input) {
  if (!spec.roles.empty()) return shrink_roles(spec.roles);
  if (input.count_given) return;
  spec.processes.reset();
  spec.processes_per_node.kind = ProcessesPerNode::Kind::count;
  const bool one_a_node = spec.launch != Launch::per_process;
  spec.processes_per_node.count = one_a_node       ? 1
                                  : input.gpus > 0 ? static_cast<int>(input.gpus)
                                                   : kWithoutGpus;
}

std::string ranks_text(const JobSpec& spec, const SmokeInput& input) {
  if (!spec.roles.empty()) {
    return joined(spec.roles, ", ", [](const RoleSpec& role) {
      return std::to_string(role.count) + ' ' + role.name;
    });
  }
  if (spec.launch != Launch::per_process) return "1 process";
  if (spec.processes) return counted(*spec.processes, "rank");
  if (spec.processes_per_node.kind != ProcessesPerNode::Kind::count)
    return counted(std::max(input.gpus, 1U), "rank");
  const int ranks = spec.processes_per_node.count;
  if (input.count_given) return counted(ranks, "rank");
  return counted(ranks, "rank") + (input.gpus > 0 ? " (one for each GPU)" : " (there is no GPU)");
}

/// "10 min", "90 s"
std::string limit_text(Duration limit) {
  using namespace std::chrono;
  if (limit % minutes(1) == Duration(0)) return std::to_string(limit / minutes(1)) + " min";
  if (limit % seconds(1) == Duration(0)) return std::to_string(limit / seconds(1)) + " s";
  return std::to_string(limit.count()) + " ms";
}

}  // namespace

const std::vector<std::string>& keys_without_meaning_for_smoke() {
  static const std::vector<std::string> keys{"nodes",         "spares",  "hosts",     "hostfile",
                                             "connect",       "sync",    "stage_via", "collect",
                                             "collect_limit", "restart", "pty"};
  return keys;
}

SmokeJob make_smoke_job(JobSpec spec, const SmokeInput& input) {
  spec.nodes = NodeRange{1, 1};
  spec.spares = 0;
  spec.hosts = {};
  spec.connect = {};
  spec.stage = staged_items(spec);  // keeps sync.paths, except the workdir
  spec.sync = {};
  spec.collect.clear();  // a smoke test has no results
  spec.collect_limit = 0;
  spec.restart.max = 0;
  spec.pty.reset();
  if (spec.stdin_for == StdinFor::rank) spec.stdin_for = StdinFor::none;
  shrink_counts(spec, input);
  if (!input.run_limit_given) spec.timeouts.run = kSmokeLimit;
  if (!input.stop_given) spec.timeouts.stop = kSmokeStop;
  if (!input.prefix_given) spec.logs.prefix = Logs::Prefix::always;
  std::string line = "smoke test: " + ranks_text(spec, input) + " on this machine, ";
  line += spec.timeouts.run ? "at most " + limit_text(*spec.timeouts.run) : "no time limit";
  line += ", no restarts";
  if (!input.ignored.empty()) {
    line += "; not read: ";
    for (std::size_t i = 0; i < input.ignored.size(); ++i)
      line += (i == 0 ? "" : ", ") + input.ignored[i];
  }
  return {std::move(spec), std::move(line)};
}

std::uint32_t count_usable_gpus(const JobSpec& spec, const NodeFacts& facts) {
  if (spec.binding.gpus == Binding::Gpus::none) return 0;
  const auto own = find_variable(spec.env, "CUDA_VISIBLE_DEVICES");
  return static_cast<std::uint32_t>(
      visible_gpus(facts, own ? own : facts.cuda_visible_devices).size());
}

}  // namespace dlaunch
