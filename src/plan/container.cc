#include "plan/container.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "model/mount.h"
#include "plan/container_runtimes.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Runtime = Container::Runtime;

struct RuntimeRow {
  Runtime runtime;
  std::string_view name;
  std::array<std::string_view, 2> programs;  // the first one found is used
  ContainerPlan (*call)(const containers::Wanted&, const ContainerFacts&);
};

/// In the order of `runtime: auto`.
constexpr RuntimeRow kRows[] = {
    {Runtime::podman, "podman", {"podman", ""}, containers::podman},
    {Runtime::docker, "docker", {"docker", ""}, containers::docker},
    {Runtime::apptainer, "apptainer", {"apptainer", "singularity"}, containers::apptainer},
    {Runtime::charliecloud, "charliecloud", {"ch-run", ""}, containers::charliecloud},
    {Runtime::enroot, "enroot", {"enroot", ""}, containers::enroot},
};

const RuntimeRow& row_of(Runtime runtime) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const RuntimeRow& row) { return row.runtime == runtime; });
}

bool has_engine(Runtime runtime) {
  return runtime == Runtime::podman || runtime == Runtime::docker;
}

bool may_use(const Container& container, Runtime runtime) {
  return container.runtime == Runtime::automatic || container.runtime == runtime;
}

std::vector<const Container*> containers_in(const JobSpec& spec) {
  std::vector<const Container*> all;
  if (spec.container) all.push_back(&*spec.container);
  for (const RoleSpec& role : spec.roles) {
    if (role.container) all.push_back(&*role.container);
  }
  return all;
}

/// Path of the runtime's program on the node; empty: not found.
std::string program_on(const ContainerFacts& facts, const RuntimeRow& row) {
  for (const std::string_view name : row.programs) {
    for (const ContainerFacts::Program& program : facts.programs) {
      if (program.name == name) return program.path;
    }
  }
  return {};
}

std::string programs_of(const RuntimeRow& row) {
  std::string text(row.programs[0]);
  if (!row.programs[1].empty()) text += " or " + std::string(row.programs[1]);
  return text;
}

bool all_have(const LaunchPlan& plan, const Cluster& cluster, const RuntimeRow& row) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (program_on(cluster.nodes[i].facts.containers, row).empty()) return false;
  }
  return true;
}

/// "gpu01 has podman and docker, gpu02 has none" for the first few nodes.
std::string who_has_what(const LaunchPlan& plan, const Cluster& cluster) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(plan.nodes.size(), kShown); ++i) {
    std::vector<std::string_view> has;
    for (const RuntimeRow& row : kRows) {
      if (!program_on(cluster.nodes[i].facts.containers, row).empty()) has.push_back(row.name);
    }
    text += (text.empty() ? "" : "; ") + plan.nodes[i].name + " has " +
            (has.empty() ? "none" : joined(has));
  }
  if (plan.nodes.size() > kShown)
    text += "; and " + std::to_string(plan.nodes.size() - kShown) + " more nodes";
  return text;
}

bool wants_gpus(const LaunchPlan& plan, const NodePlan& node) {
  return std::any_of(node.ranks.begin(), node.ranks.end(),
                     [&](Rank r) { return !plan.ranks[r.value].gpus.empty(); });
}

/// Why the job's GPUs cannot be provided in the container; empty: they can.
std::string gpu_problem(Runtime runtime, const ContainerFacts& facts) {
  if (runtime == Runtime::podman && !facts.nvidia_cdi) {
    return "podman finds no description of them (Container Device Interface)\n"
           "         try: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml";
  }
  if (runtime == Runtime::docker && !facts.nvidia_cdi && !facts.nvidia_toolkit) {
    return "docker needs the NVIDIA Container Toolkit (nvidia-container-cli) for them\n"
           "         try: install nvidia-container-toolkit on that node";
  }
  return {};
}

bool brings_gpus(const LaunchPlan& plan, const Cluster& cluster, const RuntimeRow& row) {
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (wants_gpus(plan, plan.nodes[i]) &&
        !gpu_problem(row.runtime, cluster.nodes[i].facts.containers).empty())
      return false;
  }
  return true;
}

/// The first runtime that all nodes have and that can provide the GPUs. If none can provide them,
/// the first that all nodes have: its problem is then reported. Null: no runtime is on all nodes.
const RuntimeRow* best_of(const Container& container, const LaunchPlan& plan,
                          const Cluster& cluster) {
  const RuntimeRow* first = nullptr;
  for (const RuntimeRow& row : kRows) {
    if (!may_use(container, row.runtime) || !all_have(plan, cluster, row)) continue;
    if (brings_gpus(plan, cluster, row)) return &row;
    if (first == nullptr) first = &row;
  }
  return first;
}

Result<const RuntimeRow*> choose(const Container& container, const Cluster& cluster,
                                 LaunchPlan& plan) {
  if (cluster.is_assumed) {
    const bool open = container.runtime == Runtime::automatic;
    plan.notes.push_back(open ? "offline: which container runtime the nodes have is not known; the "
                                "plan shows podman's command"
                              : "offline: whether the nodes have " +
                                    std::string(name_of(container.runtime)) + " is not known");
    return &row_of(open ? Runtime::podman : container.runtime);
  }
  if (const RuntimeRow* best = best_of(container, plan, cluster)) return best;
  if (container.runtime == Runtime::automatic) {
    return fail(
        exit_code::kPreflight,
        std::string(plan.nodes.size() > 1 ? "no container runtime that all nodes have: "
                                          : "no container runtime: ") +
            who_has_what(plan, cluster) +
            "\n         looked for in PATH: podman, docker, apptainer, singularity, ch-run, "
            "enroot; to run without the container: --no-container");
  }
  const RuntimeRow& row = row_of(container.runtime);
  std::size_t node = 0;
  while (!program_on(cluster.nodes[node].facts.containers, row).empty()) ++node;
  return fail(exit_code::kPreflight, "there is no " + programs_of(row) + " in PATH on " +
                                         plan.nodes[node].name +
                                         " (container.runtime: " + std::string(row.name) + "); " +
                                         who_has_what(plan, cluster));
}

/// Podman and docker start programs in the image's WORKDIR. The other runtimes do not know the
/// WORKDIR, because their containers are folders.
void note_workdir(const Container& container, const RuntimeRow& row, LaunchPlan& plan) {
  if (container.workdir != kImagesOwn || has_engine(row.runtime)) return;
  std::string note = std::string(row.name) +
                     " does not report an image's working directory: programs start in the job's "
                     "workdir; to choose another: --set container.workdir=/FOLDER";
  if (!contains(plan.notes, note)) plan.notes.push_back(std::move(note));
}

/// Mounts the folder read-only if the runtime supports that, because it contains our own program
/// and what the node executes for cleanup. connect(2) does not need write access to it.
void add_entry_folder(Runtime runtime, const std::string& folder, std::vector<Mount>& mounts) {
  std::erase_if(mounts, [&](const Mount& other) { return other.target == folder; });
  mounts.push_back({folder, folder, runtime != Runtime::charliecloud});
}

/// The user's mounts, and the folders of the node that a rank needs, mounted at the same path. Each
/// target occurs once, and no folder below one that is already mounted at its own path is added.
std::vector<Mount> mounts_of(const Container& container, Runtime runtime, const JobSpec& spec,
                             const ContainerFacts& facts, const LaunchPlan& plan,
                             const NodePlan& node) {
  std::vector<Mount> mounts;
  for (const std::string& text : container.mounts) {
    Mount mount = mount_of(text);
    if (!mount.host.starts_with('/')) {
      while (mount.host.starts_with("./")) mount.host.erase(0, 2);
      mount.host = mount.host == "." ? plan.workdir : plan.workdir + '/' + mount.host;
    }
    std::erase_if(mounts, [&](const Mount& other) { return other.target == mount.target; });
    mounts.push_back(std::move(mount));
  }
  const auto add = [&](const std::string& path) {
    if (path.empty()) return;
    const bool is_there = std::any_of(mounts.begin(), mounts.end(), [&](const Mount& other) {
      return other.target == path ||
             (other.host == other.target && !other.read_only && is_in_folder(path, other.target));
    });
    if (!is_there) mounts.push_back({path, path, false});
  };
  add(plan.workdir);
  // Charliecloud needs an existing mount point, which an image does not have for this folder.
  // Without it, error files are lost.
  if (runtime != Runtime::charliecloud || is_in_folder(node.output_folder, "/tmp"))
    add(node.output_folder);
  add_entry_folder(runtime, node.entry_folder, mounts);
  if (uses_mpi(spec.framework)) add(facts.session_folder);
  // Sorted so that a folder precedes its contents.
  std::stable_sort(mounts.begin(), mounts.end(), [](const Mount& a, const Mount& b) {
    return a.target.size() < b.target.size();
  });
  return mounts;
}

Result<std::uint64_t> shared_memory(const Container& container, Runtime runtime,
                                    const ContainerFacts& facts, const NodePlan& node) {
  if (container.shm_bytes <= facts.shm_bytes) return 0;
  if (has_engine(runtime) && node.ranks.size() == 1) return container.shm_bytes;
  return fail(exit_code::kPreflight,
              "/dev/shm of " + node.name + " holds " + size_text(facts.shm_bytes) +
                  ", less than container.shm_size: " + size_text(container.shm_bytes) +
                  "; the ranks of a node share it for NCCL and MPI\n"
                  "         try: mount -o remount,size=" +
                  std::to_string(container.shm_bytes) + " /dev/shm on that node");
}

struct NodeView {
  const JobSpec& spec;
  const Container& container;
  const RuntimeRow& row;
  const Node& node;
  const NodePlan& plan;
  bool is_assumed;
  std::string name;
};

/// Names a setting that the runtime does not support; empty: it supports all.
std::string unfit(const NodeView& view, const std::vector<Mount>& mounts) {
  const bool can_read_only = view.row.runtime != Runtime::charliecloud;
  for (const Mount& mount : mounts) {
    if (mount.read_only && !can_read_only)
      return "container.mounts: Charliecloud cannot mount read-only (" + mount.host +
             "); leave out :ro";
    // enroot writes a line of fstab(5), in which a blank ends a field.
    const bool is_line = view.row.runtime == Runtime::enroot;
    const bool is_awkward =
        mount.host.find_first_of(is_line ? ":, \t\n\\" : ":,") != std::string::npos;
    if (is_awkward && !has_engine(view.row.runtime))
      return "\"" + mount.host + "\" cannot be mounted by " + std::string(view.row.name) +
             ": its options reserve ':'" + (is_line ? ", ',', '\\' and blanks" : " and ','");
  }
  return {};
}

Result<ContainerPlan> plan_one(const NodeView& view, const LaunchPlan& plan) {
  ContainerFacts facts = view.node.facts.containers;
  containers::Wanted wanted;
  wanted.program = program_on(facts, view.row);
  if (wanted.program.empty()) wanted.program = view.row.programs[0];  // the plan is made offline
  wanted.image = view.container.image;
  wanted.options = view.container.options;
  wanted.name = view.name;
  wanted.mounts = mounts_of(view.container, view.row.runtime, view.spec, facts, plan, view.plan);
  if (const std::string why = unfit(view, wanted.mounts); !why.empty())
    return fail(exit_code::kJobFile, why);
  wanted.gpus = wants_gpus(plan, view.plan);
  if (const std::string why = wanted.gpus ? gpu_problem(view.row.runtime, facts) : "";
      !why.empty() && !view.is_assumed) {
    return fail(exit_code::kPreflight, "the GPUs of " + view.plan.name +
                                           " cannot be used in a container: " + why +
                                           ", or leave them out: --set binding.gpus=none");
  }
  if (!view.is_assumed) {
    const auto own = shared_memory(view.container, view.row.runtime, facts, view.plan);
    if (!own) return tl::unexpected(own.error());
    wanted.own_shm = *own;
  }
  const std::string& folder = view.plan.entry_folder;
  wanted.entry = {folder + "/dlaunch", "agent", "--enter", folder};
  const std::string& workdir = view.container.workdir;
  const bool knows_workdir = workdir != kImagesOwn || has_engine(view.row.runtime);
  if (!workdir.empty() && knows_workdir) wanted.entry.insert(wanted.entry.end(), {"--at", workdir});
  wanted.rc = folder + "/rc";
  return view.row.call(wanted, facts);
}

std::string or_placeholder(const std::string& run_id) {
  return run_id.empty() ? "<run id>" : run_id;
}

Status add_to_node(const JobSpec& spec, const Cluster& cluster, const PlanContext& context,
                   const std::map<const Container*, const RuntimeRow*>& chosen, NodeRank index,
                   LaunchPlan& plan) {
  NodePlan& node = plan.nodes[index.value];
  std::map<const Container*, std::uint32_t> known;
  for (const Rank r : node.ranks) {
    const Container* container = container_of(spec, plan.ranks[r.value].role);
    if (container == nullptr) continue;
    if (const auto before = known.find(container); before != known.end()) {
      plan.ranks[r.value].container = before->second;
      continue;
    }
    const ContainerFacts& facts = cluster.nodes[index.value].facts.containers;
    if (facts.base.empty() && !cluster.is_assumed) {
      return fail(exit_code::kPreflight,
                  "no folder on " + node.name +
                      " for programs that run in a container: /tmp, /var/tmp and the home folder "
                      "are not writable or mounted noexec");
    }
    const std::string attempt = std::to_string(context.attempt.value);
    const std::string run = or_placeholder(context.run_id);
    node.entry_folder = (facts.base.empty() ? "/tmp" : facts.base) + "/dlaunch-enter-" + run + '-' +
                        attempt + '-' + std::to_string(index.value);
    const auto made = plan_one({spec, *container, *chosen.at(container), cluster.nodes[index.value],
                                node, cluster.is_assumed, "dlaunch-" + run + '-' + attempt + "-r"},
                               plan);
    if (!made) return tl::unexpected(made.error());
    const auto number = static_cast<std::uint32_t>(node.containers.size());
    known.emplace(container, number);
    plan.ranks[r.value].container = number;
    node.containers.push_back(*made);
  }
  return {};
}

/// Whether the job sets the variable: a node's variables are applied later and must not override
/// the job's.
bool is_set_by_job(const LaunchPlan& plan, std::string_view name) {
  return std::any_of(plan.variables.begin(), plan.variables.end(),
                     [&](const Variable& variable) { return variable.name == name; });
}

/// Where UCX cannot access the memory of another rank, it adds TCP to shared memory for large
/// messages, and MPICH 4.0 may then hang in MPI_Finalize (docs/how-to/run-mpi-programs.md). On one
/// node shared memory suffices. UCX_TLS accepts "^" since UCX 1.10.
void leave_tcp_out(LaunchPlan& plan) {
  constexpr const char* kTransports = "UCX_TLS";
  NodePlan& node = plan.nodes.front();
  if (plan.nodes.size() > 1 || node.containers.empty() || is_set_by_job(plan, kTransports)) return;
  node.variables.push_back({kTransports, "^tcp", VariableSource::fabric,
                            "one node: shared memory is enough, and MPICH 4.0 may hang with both",
                            true});
}

/// UCX opens the shared memory of other ranks through /proc/PID/fd, which separate user namespaces
/// forbid. Opening it by name works (UCX, "UCX_POSIX_USE_PROC_LINK").
void open_shared_memory_by_name(const JobSpec& spec, LaunchPlan& plan) {
  constexpr const char* kByLink = "UCX_POSIX_USE_PROC_LINK";
  if (!uses_mpi(spec.framework) || is_set_by_job(plan, kByLink)) return;
  for (NodePlan& node : plan.nodes) {
    if (node.containers.empty()) continue;
    node.variables.push_back({kByLink, "n", VariableSource::fabric,
                              "ranks in containers have user namespaces of their own", true});
  }
}

/// Passes on the node's own restriction of GPUs, because the container does not inherit it. It
/// overrides what the image sets.
void keep_gpu_restriction(const JobSpec& spec, const Cluster& cluster, LaunchPlan& plan) {
  constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
  if (spec.binding.gpus == Binding::Gpus::none || is_set_by_job(plan, kVisible)) return;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const auto& visible = cluster.nodes[i].facts.cuda_visible_devices;
    if (!visible || plan.nodes[i].containers.empty()) continue;
    plan.nodes[i].variables.push_back(
        {kVisible, *visible, VariableSource::carried, "set on this node", false});
  }
}

}  // namespace

std::vector<std::string> container_programs(const JobSpec& spec) {
  std::vector<std::string> programs;
  const auto all = containers_in(spec);
  if (all.empty()) return programs;
  for (const RuntimeRow& row : kRows) {
    for (const std::string_view program : row.programs) {
      if (!program.empty()) programs.emplace_back(program);
    }
  }
  return programs;
}

std::string_view name_of(Container::Runtime runtime) {
  return runtime == Runtime::automatic ? "auto" : row_of(runtime).name;
}

const Container* container_of(const JobSpec& spec, std::string_view role) {
  for (const RoleSpec& one : spec.roles) {
    if (one.name == role && one.container) return &*one.container;
  }
  return spec.container ? &*spec.container : nullptr;
}

bool all_contained(const JobSpec& spec) {
  if (spec.container) return true;
  return !spec.roles.empty() &&
         std::all_of(spec.roles.begin(), spec.roles.end(),
                     [](const RoleSpec& role) { return role.count == 0 || role.container; });
}

Status add_containers(const JobSpec& spec, const Cluster& cluster, const PlanContext& context,
                      LaunchPlan& plan) {
  std::map<const Container*, const RuntimeRow*> chosen;
  for (const RankPlan& rank : plan.ranks) {
    const Container* container = container_of(spec, rank.role);
    if (container == nullptr || chosen.contains(container)) continue;
    const auto row = choose(*container, cluster, plan);
    if (!row) return tl::unexpected(row.error());
    chosen.emplace(container, *row);
    note_workdir(*container, **row, plan);
  }
  if (chosen.empty()) return {};
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    if (Status s = add_to_node(spec, cluster, context, chosen, NodeRank(i), plan); !s) return s;
  }
  keep_gpu_restriction(spec, cluster, plan);
  open_shared_memory_by_name(spec, plan);
  if (uses_mpi(spec.framework)) leave_tcp_out(plan);
  return {};
}

}  // namespace dlaunch
