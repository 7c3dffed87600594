#include "plan/make_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "plan/bind.h"
#include "plan/candidates.h"
#include "plan/command.h"
#include "plan/container.h"
#include "plan/inherited_env.h"
#include "plan/lengths.h"
#include "plan/machines.h"
#include "plan/mpirun.h"
#include "plan/place.h"
#include "plan/rank_env.h"
#include "plan/rank_ports.h"
#include "plan/success.h"
#include "plan/user_env.h"
#include "plan/visible_gpus.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using NodeGpus = std::vector<VisibleGpu>;

Status check_isolation(const JobSpec& spec, const Cluster& cluster) {
  if (spec.isolation != Isolation::pid_namespace) return {};
  for (const Node& node : cluster.nodes) {
    std::string_view why = node.facts.isolation_refused;
    if (why.empty()) continue;
    std::string text = "isolation: pid-namespace is not possible on " + node.name + ": ";
    text += take_line(why);
    if (!why.empty()) text.append("\n         try: ").append(why);
    return fail(exit_code::kPreflight, std::move(text));
  }
  return {};
}

/// Refuses more MPI ranks than cores by default, as mpirun(1) does ("Slots"): MPI ranks wait by
/// polling, so two ranks on a core slow each other down.
Status check_crowding(const JobSpec& spec, const Cluster& cluster, const LaunchPlan& plan) {
  if (!uses_mpi(spec.framework) || spec.mpi.oversubscribe) return {};
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const std::size_t ranks = plan.nodes[i].ranks.size();
    const std::size_t cores = cluster.nodes[i].facts.cores.size();
    if (cluster.nodes[i].slots > 0 || cores == 0 || ranks <= cores) continue;
    return fail(exit_code::kJobFile,
                std::to_string(ranks) + " MPI ranks are too many for " + plan.nodes[i].name +
                    ", which has " + counted(cores, "core") +
                    "\n         if that is intended: --set mpi.oversubscribe=true, or slots in the "
                    "host list");
  }
  return {};
}

Status check_rank(const char* key, std::uint32_t rank, std::size_t ranks) {
  if (rank < ranks) return {};
  return fail(exit_code::kJobFile,
              std::string(key) + ": there is no rank " + std::to_string(rank) + "; this job has " +
                  (ranks == 1 ? "only rank 0" : "ranks 0 to " + std::to_string(ranks - 1)));
}

/// Ranks that the job names must exist; otherwise the user would not notice that no output appears,
/// or that no rank reads stdin.
Status check_named_ranks(const JobSpec& spec, std::size_t ranks) {
  if (spec.logs.console == Logs::Console::ranks) {
    for (const std::uint32_t rank : spec.logs.console_ranks) {
      if (const Status s = check_rank("logs.console", rank, ranks); !s) return s;
    }
  }
  if (spec.pty) return check_rank("pty", *spec.pty, ranks);
  return spec.stdin_for == StdinFor::rank ? check_rank("stdin", spec.stdin_rank, ranks) : Status();
}

/// CUDA_VISIBLE_DEVICES for a node's ranks: from `env` of the job, else from passed variables, else
/// from the node itself.
std::optional<std::string> visible_devices(const JobSpec& spec, const std::vector<Variable>& user,
                                           const NodeFacts& facts) {
  constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES";
  if (auto own = find_variable(spec.env, kName)) return own;
  const auto passed = std::find_if(user.begin(), user.end(), [&](const Variable& v) {
    return v.name == kName && v.source == VariableSource::env_pass;
  });
  return passed == user.end() ? facts.cuda_visible_devices : passed->value;
}

std::vector<NodeGpus> gpus_of_nodes(const JobSpec& spec, const Cluster& cluster,
                                    const std::vector<Variable>& user) {
  std::vector<NodeGpus> gpus(cluster.nodes.size());
  if (spec.binding.gpus == Binding::Gpus::none) return gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const NodeFacts& facts = cluster.nodes[i].facts;
    const std::optional<std::string> variable = visible_devices(spec, user, facts);
    const bool on_trust =
        facts.gpus.empty() && variable && spec.binding.gpus == Binding::Gpus::one_per_process;
    gpus[i] = on_trust ? listed_gpus(*variable) : visible_gpus(facts, variable);
  }
  return gpus;
}

std::vector<std::uint32_t> counts_of(const std::vector<NodeGpus>& gpus) {
  std::vector<std::uint32_t> counts;
  counts.reserve(gpus.size());
  for (const NodeGpus& of_node : gpus) counts.push_back(static_cast<std::uint32_t>(of_node.size()));
  return counts;
}

std::string absolute_workdir(const JobSpec& spec, const PlanContext& context) {
  const std::filesystem::path path = std::filesystem::path(context.current_folder) / spec.workdir;
  std::string text = path.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

/// Where the node's agent stores output and files of ranks: in the run folder, or elsewhere if the
/// node cannot reach it.
std::string output_folder(const PlanContext& context, const Node& node) {
  if (node.is_launcher || node.facts.output_folder.empty()) return attempt_folder(context);
  return node.facts.output_folder + "/attempt-" + std::to_string(context.attempt.value);
}

/// The nodes that the job uses, so that a node's index is its NodeRank.
Cluster nodes_of(const Placement& placement, const Cluster& cluster) {
  Cluster used;
  used.meeting = cluster.meeting;
  used.is_assumed = cluster.is_assumed;
  used.nodes.reserve(placement.nodes.size());
  for (const std::uint32_t node : placement.nodes) used.nodes.push_back(cluster.nodes[node]);
  return used;
}

void add_commands(const JobSpec& spec, const Placement& placement,
                  std::vector<std::uint32_t>& command_of_role, LaunchPlan& plan) {
  for (const PlacedRole& role : placement.roles) {
    const bool has_own = role.spec != nullptr && role.spec->command;
    CommandPlan command =
        plan_command(has_own ? *role.spec->command : spec.command, spec.shell, spec.setup);
    const auto known = std::find(plan.commands.begin(), plan.commands.end(), command);
    command_of_role.push_back(static_cast<std::uint32_t>(known - plan.commands.begin()));
    if (known == plan.commands.end()) plan.commands.push_back(std::move(command));
  }
}

void add_nodes_and_ranks(const JobSpec& spec, const Cluster& cluster, const PlanContext& context,
                         const Placement& placement, LaunchPlan& plan) {
  std::vector<std::uint32_t> command_of_role;
  add_commands(spec, placement, command_of_role, plan);
  for (std::size_t i = 0; i < placement.slots.size(); ++i)
    plan.hosts.push_back({cluster.nodes[i].name, placement.slots[i]});
  plan.nodes.resize(placement.per_node.size());
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    plan.nodes[i].id = cluster.nodes[i].id;
    plan.nodes[i].name = cluster.nodes[i].name;
    plan.nodes[i].is_remote = !cluster.nodes[i].is_launcher;
    plan.nodes[i].output_folder = output_folder(context, cluster.nodes[i]);
    plan.nodes[i].ranks.reserve(placement.per_node[i]);
  }
  for (std::size_t i = 0; i < plan.nodes.size(); ++i)
    plan.nodes[i].address = address_of(cluster.nodes[i], nodes_of_job(plan));
  plan.ranks.resize(placement.ranks.size());
  for (std::uint32_t r = 0; r < plan.ranks.size(); ++r) {
    const PlacedRank& placed = placement.ranks[r];
    RankPlan& rank = plan.ranks[r];
    rank.rank = Rank(r);
    rank.node = placed.node;
    rank.local_rank = placed.local_rank;
    rank.role = placement.roles[placed.role].name;
    rank.role_rank = placed.role_rank;
    rank.command = command_of_role[placed.role];
    plan.nodes[placed.node.value].ranks.push_back(rank.rank);
  }
}

/// Assigns GPUs to the ranks of one node. Returns for each rank the NUMA node of the GPU that it
/// will use; -1: unknown. With `binding.gpus: all`, a rank is assumed to use the GPU whose number
/// is its LOCAL_RANK, except a single rank that sees several GPUs.
Result<std::vector<int>> assign_gpus(const JobSpec& spec, const NodeGpus& gpus,
                                     const NodePlan& node, bool is_known, LaunchPlan& plan) {
  std::vector<int> homes;
  std::vector<std::string> all;
  all.reserve(gpus.size());
  for (const VisibleGpu& gpu : gpus) all.push_back(gpu.id);
  const bool one_each = spec.binding.gpus == Binding::Gpus::one_per_process;
  const bool unclear = !one_each && node.ranks.size() == 1 && gpus.size() > 1;
  std::size_t next = 0;  // ps tasks use no GPU, so they are skipped
  for (const Rank r : node.ranks) {
    RankPlan& rank = plan.ranks[r.value];
    // The evaluator is last, and runs without a GPU if the other ranks have taken them all.
    const bool goes_without = rank.role == "evaluator" && one_each && next >= gpus.size();
    const bool computes = rank.role != "ps" && !gpus.empty() && !goes_without;
    const std::size_t mine = computes ? next++ : gpus.size();
    homes.push_back(mine < gpus.size() && !unclear ? gpus[mine].numa : -1);
    if (!computes) continue;
    if (!one_each) {
      rank.gpus = all;
    } else if (mine < gpus.size()) {
      rank.gpus = {gpus[mine].id};
    }
  }
  if (one_each && is_known && next > gpus.size()) {
    return fail(exit_code::kJobFile, "\"binding.gpus: one-per-process\" but " + node.name +
                                         " has " + counted(gpus.size(), "GPU") +
                                         " that the job may use, for " + std::to_string(next) +
                                         " ranks");
  }
  return homes;
}

/// Notes on GPUs that every rank of a node sees.
std::vector<std::string> gpu_notes(const JobSpec& spec, const NodeGpus& gpus, const NodePlan& node,
                                   const LaunchPlan& plan) {
  std::vector<std::string> notes;
  if (gpus.empty() || spec.binding.gpus != Binding::Gpus::all || spec.launch != Launch::per_process)
    return notes;
  const auto computing =
      static_cast<std::size_t>(std::count_if(node.ranks.begin(), node.ranks.end(), [&](Rank r) {
        return plan.ranks[r.value].role != "ps";
      }));
  if (computing < 2) return notes;
  if (computing > gpus.size()) {
    const std::string count = std::to_string(gpus.size());
    notes.push_back(std::to_string(computing) + " ranks for " + count +
                    (gpus.size() == 1 ? " GPU" : " GPUs") + "; a LOCAL_RANK of " + count +
                    " or more has no GPU of its own");
  }
  if (std::any_of(gpus.begin(), gpus.end(), [](const VisibleGpu& gpu) { return gpu.is_mig; })) {
    notes.emplace_back(
        "CUDA shows a process only the first MIG slice of its list; use binding.gpus: "
        "one-per-process");
  } else if (spec.framework == Framework::tensorflow) {
    notes.emplace_back(
        "TensorFlow takes every GPU that it sees; use binding.gpus: one-per-process");
  }
  return notes;
}

using NotesOfNodes = std::map<std::string, std::vector<const NodePlan*>>;

/// Adds each note once, with the first node to which it applies and the number of the others.
void add_notes(const NotesOfNodes& nodes_of, LaunchPlan& plan) {
  for (const auto& [note, nodes] : nodes_of) {
    const std::size_t more = nodes.size() - 1;
    plan.notes.push_back(nodes.front()->name +
                         (more == 0   ? ""
                          : more == 1 ? " and 1 more node"
                                      : " and " + std::to_string(more) + " more nodes") +
                         ": " + note);
  }
}

/// `cluster`: the result of with_shares().
Status bind_nodes(const JobSpec& spec, const Cluster& cluster, const std::vector<NodeGpus>& gpus,
                  const std::vector<MachineShare>& shares, LaunchPlan& plan) {
  NotesOfNodes notes;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    NodePlan& node = plan.nodes[i];
    const auto homes = assign_gpus(spec, gpus[i], node, !cluster.is_assumed, plan);
    if (!homes) return tl::unexpected(homes.error());
    const bool by_mpirun = spec.mpi.launcher == Mpi::Launcher::mpirun;
    const auto cpus = by_mpirun ? Binding::Cpus::none : spec.binding.cpus;
    CoreBinding binding = bind_ranks(cluster.nodes[i].facts, *homes, cpus);
    if (by_mpirun) binding.note = "mpirun binds ranks: see its command";
    if (shares[i].nodes > 1 && spec.binding.cpus != Binding::Cpus::none)
      binding.note = note_of_share(shares[i], binding.note);
    if (binding.is_crowded_out) notes["ranks are " + binding.note].push_back(&node);
    node.binding_note = std::move(binding.note);
    for (std::size_t local = 0; local < node.ranks.size(); ++local) {
      plan.ranks[node.ranks[local].value].cpus = std::move(binding.cpus[local]);
    }
  }
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    for (std::string& note : gpu_notes(spec, gpus[i], plan.nodes[i], plan))
      notes[std::move(note)].push_back(&plan.nodes[i]);
  }
  add_notes(notes, plan);
  return {};
}

/// Determines where the ranks meet, and each node's address and interface for that.
Result<Meeting> meet(const JobSpec& spec, const Cluster& cluster, LaunchPlan& plan) {
  if (!needs_meeting(spec.framework)) return Meeting{};
  auto meeting = choose_meeting(spec.rendezvous, cluster);
  if (!meeting) return meeting;
  for (std::size_t i = 0; i < std::min(plan.nodes.size(), meeting->routes.size()); ++i) {
    const NodeRoute& route = meeting->routes[i];
    plan.nodes[i].interface = route.interface;
    if (!route.address.empty()) plan.nodes[i].address = route.address;
  }
  return meeting;
}

/// Notes the assumptions of an offline plan.
void add_assumptions(const JobSpec& spec, const Cluster& cluster, LaunchPlan& plan) {
  if (!cluster.is_assumed) return;
  plan.notes.emplace_back(
      "offline: no node was contacted; GPUs, cores and addresses are not known, nor whether files "
      "and programs exist");
  const bool counts_gpus = spec.processes_per_node.kind != ProcessesPerNode::Kind::count &&
                           !spec.processes && spec.roles.empty() &&
                           spec.launch == Launch::per_process;
  if (counts_gpus)
    plan.notes.emplace_back(
        "offline: a node gets one rank per slot, or a single rank if it has no slots, instead of "
        "one per GPU");
  if (ports_wanted(spec) > 0)
    plan.notes.emplace_back("offline: ports are examples; free ones are chosen on the nodes");
}

void add_hostfiles(LaunchPlan& plan) {
  if (plan.hosts.empty()) return;
  for (const HostfileDialect dialect : {HostfileDialect::slots, HostfileDialect::hydra}) {
    plan.nodes.front().files.push_back(
        {plan.nodes.front().output_folder + '/' + std::string(hostfile_name(dialect)),
         hostfile_text(dialect, plan.hosts)});
  }
}

void add_role_notes(const JobSpec& spec, const Placement& placement, LaunchPlan& plan) {
  const auto has_own = [](const PlacedRole& role) {
    return role.spec != nullptr && role.spec->command;
  };
  const auto& roles = placement.roles;
  const bool has_command = spec.command.is_shell || !spec.command.argv.empty();
  if (has_command && std::all_of(roles.begin(), roles.end(), has_own))
    plan.notes.emplace_back("command is not used: every role has its own");
  if (!spec.roles.empty() && spec.processes_per_node.kind != ProcessesPerNode::Kind::automatic)
    plan.notes.emplace_back(
        "processes_per_node is not used: the roles set the number of processes");
  if (spec.placement == PlacementPolicy::spread && plan.ranks.size() > plan.nodes.size() &&
      !spec.roles.empty()) {
    const std::string tasks = std::to_string(plan.ranks.size());
    plan.notes.push_back(tasks + " tasks share " + counted(plan.nodes.size(), "host") + "; on " +
                         tasks + " hosts (--hosts) each has its own (placement: spread)");
  }
  const bool has_servers = std::any_of(roles.begin(), roles.end(), [](const PlacedRole& role) {
    return role.name == "ps" || role.name == "evaluator";
  });
  if (has_servers && spec.success == Success::all) {
    plan.notes.emplace_back(
        "success: all also waits for parameter servers and evaluators, which rarely end by "
        "themselves; success: chief or workers does not");
  }
}

/// Names the spares; notes nodes without ranks, and parameter servers that are stopped at the end.
void add_spares(const JobSpec& spec, const Cluster& all, const Placement& placement,
                LaunchPlan& plan) {
  for (std::size_t i = placement.nodes_available; i < all.nodes.size(); ++i)
    plan.spares.push_back(all.nodes[i].name);
  if (nodes_of_job(plan) < placement.nodes_available) {
    plan.notes.push_back(std::to_string(placement.nodes_available - nodes_of_job(plan)) + " of " +
                         std::to_string(placement.nodes_available) + " nodes get no rank");
  }
  if (spec.success == Success::automatic && success_rule(spec, plan) == Success::workers) {
    plan.notes.emplace_back(
        "parameter servers are stopped when the workers are done (success: workers)");
  }
}

}  // namespace

Result<Cluster> nodes_to_meet(const JobSpec& spec, const Cluster& cluster,
                              const PlanContext& context) {
  if (!needs_meeting(spec.framework) || cluster.nodes.size() < 2) return Cluster{};
  if (const Status one = check_machines(spec, cluster); !one) return tl::unexpected(one.error());
  const auto gpus = gpus_of_nodes(spec, cluster, user_variables(spec, context.launcher_env));
  const auto placement = place(spec, cluster, counts_of(gpus));
  if (!placement) return tl::unexpected(placement.error());
  return placement->nodes.size() < 2 ? Cluster{} : nodes_of(*placement, cluster);
}

Result<LaunchPlan> make_plan(const JobSpec& spec, const Cluster& all, const PlanContext& context) {
  if (const auto conflicts = launch_conflicts(spec); !conflicts.empty())
    return fail(exit_code::kJobFile, conflicts.front().why);
  if (const Status s = check_isolation(spec, all); !s) return tl::unexpected(s.error());
  if (const Status s = check_machines(spec, all); !s) return tl::unexpected(s.error());
  LaunchPlan plan;
  plan.name = spec.name;
  plan.run_id = context.run_id;
  plan.attempt = context.attempt;
  plan.framework = spec.framework;
  plan.launch = spec.launch;
  plan.workdir = absolute_workdir(spec, context);
  plan.variables = user_variables(spec, context.launcher_env);
  plan.not_passed = missing_variables(spec, context.launcher_env);
  plan.scrubbed = scrub_list();

  const auto placement = place(spec, all, counts_of(gpus_of_nodes(spec, all, plan.variables)));
  if (!placement) return tl::unexpected(placement.error());
  const Cluster cluster = nodes_of(*placement, all);  // the rest of the plan uses only these nodes
  const std::vector<NodeGpus> gpus = gpus_of_nodes(spec, cluster, plan.variables);
  add_nodes_and_ranks(spec, cluster, context, *placement, plan);
  if (const Status s = check_crowding(spec, cluster, plan); !s) return tl::unexpected(s.error());
  if (const Status s = check_named_ranks(spec, plan.ranks.size()); !s)
    return tl::unexpected(s.error());
  add_spares(spec, all, *placement, plan);
  const std::vector<MachineShare> shares = share_machines(cluster, placement->per_node);
  const std::optional<Cluster> own_parts = with_shares(cluster, shares);
  const Cluster& shared = own_parts ? *own_parts : cluster;
  if (const Status s = bind_nodes(spec, shared, gpus, shares, plan); !s)
    return tl::unexpected(s.error());
  const auto meeting = meet(spec, cluster, plan);
  if (!meeting) return tl::unexpected(meeting.error());
  if (const Status s = assign_ports(spec, cluster, *meeting, plan); !s)
    return tl::unexpected(s.error());
  if (std::any_of(plan.nodes.begin(), plan.nodes.end(),
                  [](const NodePlan& node) { return node.is_remote; }) &&
      !all_contained(spec))
    plan.carried = carried_variables(context.launcher_env);
  add_hostfiles(plan);
  add_role_notes(spec, *placement, plan);
  add_assumptions(spec, cluster, plan);
  // Containers come before the variables, because the inherited environment depends on them.
  if (const Status s = add_containers(spec, cluster, context, plan); !s)
    return tl::unexpected(s.error());
  add_rank_variables(spec, shared, context, plan);
  if (const Status s = add_mpirun(spec, cluster, context, plan); !s)
    return tl::unexpected(s.error());
  if (const Status s = check_lengths(spec, context, plan); !s) return tl::unexpected(s.error());
  return plan;
}

std::string attempt_folder(const PlanContext& context) {
  const std::string run = context.run_folder.empty() ? "<run folder>" : context.run_folder;
  return run + "/attempt-" + std::to_string(context.attempt.value);
}

}  // namespace dlaunch
