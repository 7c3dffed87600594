#include "launch/session/start_message.h"

#include "plan/inherited_env.h"
#include "plan/make_plan.h"

namespace dlaunch {

namespace {

constexpr std::size_t kRanksPerMessage = 64;

wire::StartRank start_rank(const RankPlan& rank, const StartSettings& settings) {
  wire::StartRank start;
  start.rank = rank.rank;
  start.local_rank = rank.local_rank;
  start.command = rank.command;
  start.env = own_environment(rank);
  start.cpus = rank.cpus;
  start.release_ports = rank.ports;
  start.wants_stdin = settings.stdin_rank == rank.rank;
  start.terminal = settings.terminal_rank == rank.rank;
  if (rank.container) start.container = *rank.container + 1;
  start.is_shown = rank.rank.value >= settings.shown.size() || settings.shown[rank.rank.value];
  return start;
}

/// A value that someone set for that machine is more likely right than ours.
void set_defaults_apart(const LaunchPlan& plan, NodeRank node, wire::StartRanks& common) {
  for (const auto* layer : {&plan.variables, &plan.nodes[node.value].variables}) {
    for (const Variable& variable : *layer) {
      if (variable.is_default) common.defaults.insert(common.env.extract(variable.name));
    }
  }
}

/// Ranks on other nodes start from the login environment there.
void add_login_environment(const LaunchPlan& plan, NodeRank node, wire::StartRanks& common) {
  common.carried = plan.carried;
  const auto& session = login_session_variables();
  common.scrub.insert(common.scrub.end(), session.begin(), session.end());
  common.env.emplace("PWD", plan.workdir);  // the agent's is the home folder
  set_defaults_apart(plan, node, common);
}

void add_preemption(const Preemption& preemption, wire::StartRanks& common) {
  if (!preemption.is_watched()) return;
  if (const auto& command = preemption.command)
    common.preemption_command =
        command->is_shell ? std::vector<std::string>{"sh", "-c", command->line} : command->argv;
  common.preemption_ms = static_cast<std::uint32_t>(preemption.interval.count());
  common.preemption_file = preemption.file;
}

}  // namespace

std::vector<wire::StartRanks> start_messages(const LaunchPlan& plan, NodeRank node,
                                             const StartSettings& settings) {
  wire::StartRanks common;
  common.attempt = plan.attempt;
  const bool is_remote = plan.nodes[node.value].is_remote;
  // If the launcher's disk is full, output goes to the agent's own folder.
  if (!is_remote) common.log_folder = settings.log_folder;
  common.workdir = plan.workdir;
  common.scrub = plan.scrubbed;
  // Passed first: `env` of the job and the rank variables override values from outside.
  common.env = settings.secrets;
  for (auto& [name, value] : shared_environment(plan, node))
    common.env.insert_or_assign(name, value);
  if (is_remote) add_login_environment(plan, node, common);
  const NodePlan& own = plan.nodes[node.value];
  common.entry_folder = own.entry_folder;
  for (const ContainerPlan& container : own.containers) {
    common.containers.push_back({container.argv, container.named, container.environment,
                                 container.cleanup, container.name});
  }
  // Values that an image sets take precedence, too.
  if (!is_remote && !own.containers.empty()) set_defaults_apart(plan, node, common);
  for (const CommandPlan& command : plan.commands)
    common.commands.push_back({command.argv, command.is_own_shell});
  if (plan.mpirun) common.join_folder = plan.mpirun->join_folder;
  common.are_mpi = plan.mpirun && uses_mpi(plan.framework);
  common.world = static_cast<std::uint32_t>(plan.ranks.size());
  common.on_node = static_cast<std::uint32_t>(own.ranks.size());
  common.output_credit = settings.output_credit;
  common.pulse_ms = static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::milliseconds>(settings.pulse_interval).count());
  common.metrics = settings.metrics;
  add_preemption(settings.preemption, common);
  common.preload = settings.preload;
  common.checkpoints = settings.checkpoints;
  common.last = false;

  std::vector<wire::StartRanks> messages(1, common);
  for (const FilePlan& file : plan.nodes[node.value].files)
    messages.front().files.push_back({file.path, file.text});
  for (const Rank rank : plan.nodes[node.value].ranks) {
    if (messages.back().ranks.size() == kRanksPerMessage) messages.push_back(common);
    messages.back().ranks.push_back(start_rank(plan.ranks[rank.value], settings));
  }
  messages.back().last = true;
  return messages;
}

}  // namespace dlaunch
