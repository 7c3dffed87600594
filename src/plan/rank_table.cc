#include "plan/rank_table.h"

#include <algorithm>
#include <vector>

#include "model/ip_address.h"
#include "model/rank_variables.h"
#include "plan/bind.h"
#include "plan/mpirun.h"
#include "plan/tf_config.h"
#include "text/strings.h"

namespace dlaunch::rank_table {

namespace {

Value number(std::size_t n) {
  return std::to_string(n);
}

Value error_file(const View& v) {
  std::string path = v.plan.nodes[v.rank->node.value].output_folder;
  if (path.empty()) return std::nullopt;  // under `dlaunch exec` nothing reads the file
  path += "/rank-";
  path += std::to_string(v.rank->rank.value);
  return path += ".error.json";
}

/// Not set in a job that is not watched, because nothing would read the file.
Value heartbeat_file(const View& v) {
  const std::string& folder = v.plan.nodes[v.rank->node.value].output_folder;
  if (folder.empty() || !is_watched(v.spec)) return std::nullopt;
  return folder + "/rank-" + std::to_string(v.rank->rank.value) + ".heartbeat";
}

/// Set if a deadline may be announced: by Slurm, or by a notice of preemption.
Value deadline_file(const View& v) {
  const bool in_slurm = v.context.launcher_env.contains("SLURM_JOB_ID");
  const bool is_told = (in_slurm || v.spec.preemption.is_watched()) && !v.context.outer;
  return is_told ? Value(v.node->output_folder + "/deadline") : std::nullopt;
}

std::string master_port_reason(const View& v) {
  if (v.context.outer) return v.context.outer->port_reason;
  return v.spec.rendezvous.port != 0 ? "rendezvous.port of the job"
                                     : "free on the first node, new for each attempt";
}

/// In AI Platform, "job" is the TrainingInput of the job, which a job of dlaunch does not have.
/// "trial" is only set in a tuning job.
constexpr std::string_view kNoTrainingInput = "{}";

std::string tf_config_reason(const View& v) {
  const bool is_apart = !has_address(tf_config_form(v.spec), v.rank->role);
  return is_apart ? "the cluster, which an evaluator only watches"
                  : "the cluster and this task's index in it";
}

/// With worker pools, set "only for distributed jobs" (Vertex AI); otherwise always set.
Value gcp_tf_config(const View& v) {
  if (v.spec.gcp.cluster_spec == GcpNames::Groups::pools && v.plan.ranks.size() == 1)
    return std::nullopt;
  const auto type = task_type(tf_config_form(v.spec), v.rank->role);
  return tf_config(v.tf_cluster, type, v.rank->role_rank, kNoTrainingInput);
}

Value slots_in_all(const View& v) {
  std::size_t slots = 0;
  for (const HostSlots& host : v.plan.hosts) slots += host.slots;
  return number(slots);
}

std::string run_id(const View& v) {
  return v.context.run_id.empty() ? "<run id>" : v.context.run_id;
}

/// Number of ranks that share the cores in the facts.
std::size_t sharers(const View& v) {
  return v.context.outer && v.context.outer->cores_are_own ? 1 : v.node->ranks.size();
}

Value threads(const View& v) {
  if (v.spec.binding.threads > 0) return number(static_cast<std::size_t>(v.spec.binding.threads));
  if (!is_torch(v.spec.framework) || v.spec.launch != Launch::per_process) return std::nullopt;
  if (v.context.outer && v.context.outer->threads) return number(*v.context.outer->threads);
  return number(static_cast<std::size_t>(threads_per_rank(*v.facts, sharers(v))));
}

/// With one core, TensorFlow (2.21) uses one thread for operations, but ParameterServerStrategy
/// needs two.
Value interop_threads(const View& v) {
  const auto& ranks = v.plan.ranks;
  const bool has_servers =
      std::any_of(ranks.begin(), ranks.end(), [](const RankPlan& r) { return r.role == "ps"; });
  const bool has_one_core = std::any_of(v.node->ranks.begin(), v.node->ranks.end(), [&](Rank rank) {
    return ranks[rank.value].cpus.size() == 1;
  });
  return has_servers && has_one_core ? Value("2") : std::nullopt;
}

std::string threads_reason(const View& v) {
  if (v.spec.binding.threads > 0) return "binding.threads";
  if (v.context.outer && v.context.outer->threads) return "cores that the launcher gave each rank";
  const std::size_t ranks = sharers(v);
  const std::size_t cores = cores_to_share(*v.facts, ranks);
  return counted(cores, "core") + " / " + counted(ranks, "rank") + ", at least 1";
}

std::string hostfile(const View& v, HostfileDialect dialect) {
  return v.plan.nodes.front().output_folder + '/' + std::string(hostfile_name(dialect));
}

/// Open MPI and Hydra find their nodes in these variables if their command line names none, as in
/// the launcher of Kubeflow's MPIJob. On a single node they are not set, because Open MPI and Hydra
/// should count its cores themselves.
Value default_hostfile(const View& v, HostfileDialect dialect) {
  return v.plan.hosts.size() > 1 ? Value(hostfile(v, dialect)) : std::nullopt;
}

/// Servers and evaluators do not meet at MASTER_ADDR, so they are not counted.
bool is_trainer(const View& v) {
  return v.rank == nullptr || v.rank->role == "chief" || v.rank->role == "worker";
}

template <class Get>
Value for_trainers(const View& v, const Get& get) {
  return is_trainer(v) ? Value(get()) : std::nullopt;
}

/// Not set on one node, where loopback suffices. NCCL treats "eth0" as a prefix ("eth01" matches)
/// and "=eth0" as the exact name; Gloo and TensorPipe accept only names.
Value meeting_interface(const View& v, const char* before) {
  if (v.node->interface.empty()) return std::nullopt;
  return before + v.node->interface;
}
constexpr const char* kMeetingInterface = "the interface to the other nodes";

// ---- derived from the network (plan/fabric_env.h)

bool has_variable(const std::vector<Variable>& variables, std::string_view name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const Variable& variable) { return variable.name == name; });
}

/// Whether the job, the login, or a file of NCCL or Open MPI sets the variable for this node's
/// ranks.
bool is_set_here(const View& v, std::string_view name) {
  const std::string text(name);
  const Environment& inherited = v.node->is_remote ? v.facts->environment : v.context.launcher_env;
  return has_variable(v.plan.variables, name) || inherited.contains(text) ||
         v.facts->fabric.nccl_settings.contains(text) || v.facts->mca_settings.contains(text);
}

/// Whether a role with ranks on this node sets the variable, which then concerns only ranks of that
/// role.
bool is_set_by_a_role(const View& v, std::string_view name) {
  return std::any_of(v.spec.roles.begin(), v.spec.roles.end(), [&](const RoleSpec& role) {
    if (!role.env.contains(std::string(name))) return false;
    return std::any_of(v.node->ranks.begin(), v.node->ranks.end(),
                       [&](Rank rank) { return v.plan.ranks[rank.value].role == role.name; });
  });
}

/// Agents read only the file that their own environment names. If the job names a file, only NCCL
/// reads it, and our variables would override its content; so we set none.
bool has_own_nccl_file(const View& v) {
  return has_variable(v.plan.variables, "NCCL_CONF_FILE") || is_set_by_a_role(v, "NCCL_CONF_FILE");
}

/// NCCL_NET selects another network module; NCCL_IB_DISABLE disables these devices. NCCL_TOPO_FILE
/// matters for the note that it is missing (plan/fabric_env.cc).
constexpr std::string_view kDeciding[] = {"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_TOPO_FILE",
                                          "UCX_TLS"};

using Setting = std::optional<FabricSetting> NodeFabric::*;

/// Empty if the user has chosen another transport for NCCL or names a file with NCCL's settings.
Value fabric_value(const View& v, Setting setting) {
  if (v.fabric == nullptr || !(v.fabric->*setting) || has_own_nccl_file(v)) return std::nullopt;
  if (is_set_here(v, "NCCL_IB_DISABLE") || is_set_here(v, "NCCL_NET")) return std::nullopt;
  return (v.fabric->*setting)->value;
}

/// For a setting that fits only the ports that we name in NCCL_IB_HCA.
Value fabric_value_of_ports(const View& v, Setting setting) {
  const bool are_others = is_set_here(v, "NCCL_IB_HCA") || is_set_by_a_role(v, "NCCL_IB_HCA");
  return are_others ? std::nullopt : fabric_value(v, setting);
}

/// Does not depend on NCCL's variables, which UCX ignores. Not set with UCX_TLS, because the
/// transports in it (such as tcp) may need other devices.
Value ucx_adapters(const View& v) {
  if (v.fabric == nullptr || !v.fabric->ucx_net_devices || is_set_here(v, "UCX_TLS"))
    return std::nullopt;
  return v.fabric->ucx_net_devices->value;
}

Value nccl_interface(const View& v) {
  return has_own_nccl_file(v) ? std::nullopt : meeting_interface(v, "=");
}

// ---- MPI

template <class Get>
Value for_torch(const View& v, const Get& get) {
  return v.spec.mpi.torch_variables ? Value(get()) : std::nullopt;
}

/// If mpirun, srun or another launcher starts the ranks, it sets what an MPI library needs from it,
/// and knows the number of slots better.
bool is_started_by_us(const View& v) {
  return !v.context.outer && v.spec.mpi.launcher == Mpi::Launcher::dlaunch;
}

template <class Get>
Value if_started_by_us(const View& v, const Get& get) {
  return is_started_by_us(v) ? Value(get()) : std::nullopt;
}

/// The variables by which an MPI library finds its launcher.
template <class Get>
Value for_pmi1(const View& v, const Get& get) {
  return v.spec.mpi.pmi != Mpi::Pmi::pmix ? if_started_by_us(v, get) : std::nullopt;
}
Value for_pmix(const View& v, const char* value) {
  return v.spec.mpi.pmi != Mpi::Pmi::pmi1 && is_started_by_us(v) ? Value(value) : std::nullopt;
}
Value for_either(const View& v, const char* value) {
  return v.spec.mpi.pmi == Mpi::Pmi::automatic ? for_pmix(v, value) : std::nullopt;
}

/// Not set if it is unknown, as it may be under another launcher: an MPI program does not need it.
Value master_host(const View& v) {
  return v.plan.master.address.empty() ? std::nullopt : Value(v.plan.master.address);
}

std::string coordinator(const View& v) {
  return host_and_port(v.plan.master.address, v.plan.master.port);
}

Value master_node(const View& v) {
  if (v.plan.nodes.size() < 2 || v.plan.master.address.empty()) return std::nullopt;
  return coordinator(v);
}

/// "10.0.0.4,10.0.0.5", without slots. Not set on one node, as in Azure, nor if it would exceed
/// Linux's length limit of a variable: the job can do without it.
Value host_list(const View& v) {
  constexpr std::size_t kMost = 128'000;
  if (v.plan.nodes.size() < 2 || v.context.outer) return std::nullopt;
  std::string list;
  for (const NodePlan& node : v.plan.nodes) {
    if (node.address.empty()) return std::nullopt;
    list += (list.empty() ? "" : ",") + node.address;
  }
  return list.size() > kMost ? std::nullopt : Value(list);
}

/// Not set if the list of excluded interfaces is, because Open MPI accepts only one of the two
/// lists (btl_tcp_component.c).
Value tcp_interface(const View& v) {
  if (v.node->interface.empty() || is_set_here(v, kMcaTcpExclude)) return std::nullopt;
  return v.node->interface;
}

/// The interface for TCP in libfabric and UCX, on which MPICH and Intel MPI are built. UCX would
/// apply it to all networks, so with InfiniBand adapters ucx_adapters() names their ports instead,
/// or UCX chooses.
Value fi_interface(const View& v) {
  return v.node->interface.empty() ? std::nullopt : Value(v.node->interface);
}
Value ucx_interface(const View& v) {
  const bool has_adapters = v.has_rdma || (v.fabric != nullptr && v.fabric->ucx_net_devices);
  return has_adapters || v.context.outer ? std::nullopt : fi_interface(v);
}

/// Whether a list of components in an Open MPI parameter excludes them ("^ucx,ofi") and does not
/// name those to use ("ob1,cm"). Source: Open MPI FAQ, "How do I know what MCA parameters are
/// available".
bool is_exclusion(std::string_view list) {
  return list.starts_with('^');
}

std::vector<std::string_view> names_in(std::string_view list) {
  if (is_exclusion(list)) list.remove_prefix(1);
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (comma != 0) names.push_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return names;
}

/// `wanted`, a list of either form, without the components that the list `excluded` excludes.
/// Returns `excluded` itself if no component is left, or if it is not an exclusion.
std::string components_without(std::string_view wanted, std::string_view excluded) {
  if (!is_exclusion(excluded)) return std::string(excluded);
  const auto out = names_in(excluded);
  std::string list(is_exclusion(wanted) ? excluded : "");
  for (const std::string_view name : names_in(wanted)) {
    if (contains(out, name)) continue;
    if (!list.empty() && list != "^") list += ',';
    list += name;
  }
  return list.empty() ? std::string(excluded) : list;
}

/// Set because MPI_Init would spend most of its time looking for networks that do not exist. Not
/// set under another launcher, where the other nodes are unknown. Components that a file excludes,
/// as Debian's does, stay excluded. This also holds for ranks in containers, because the image's
/// file is unknown.
template <const char* name>
Value without_rdma(const View& v, const char* components) {
  if (v.has_rdma || v.context.outer) return std::nullopt;
  const auto set = v.facts->mca_settings.find(name);
  return set == v.facts->mca_settings.end() ? components
                                            : components_without(components, set->second);
}
template <const char* name>
std::string no_rdma_reason(const View& v) {
  std::string reason =
      "no node has InfiniBand or similar: MPI_Init need not search for it (0.1 s instead of 0.3 s)";
  if (v.facts->mca_settings.contains(name))
    reason += "; components that an Open MPI file excludes here stay excluded";
  return reason;
}
constexpr char kPml[] = "OMPI_MCA_pml";
constexpr char kBtl[] = "OMPI_MCA_btl";
constexpr char kMtl[] = "OMPI_MCA_mtl";
constexpr char kOsc[] = "OMPI_MCA_osc";

Value yield_when_idle(const View& v) {
  const bool crowded = v.node->ranks.size() > v.facts->cores.size() && !v.facts->cores.empty();
  return crowded && !v.context.outer ? Value("1") : std::nullopt;
}

Value for_horovod(const View& v) {
  return v.spec.framework == Framework::horovod ? Value("mpi") : std::nullopt;
}

Value visible_devices(const View& v) {
  if (v.spec.binding.gpus == Binding::Gpus::none) return std::nullopt;  // another row sets it
  if (v.rank->role == "ps") return "-1";
  if (v.spec.binding.gpus != Binding::Gpus::one_per_process) return std::nullopt;
  if (!v.rank->gpus.empty()) return v.rank->gpus.front();
  return v.rank->role == "evaluator" ? Value("-1") : std::nullopt;
}

std::string visible_devices_reason(const View& v) {
  if (v.rank->role == "ps") return "a parameter server uses no GPU";
  if (v.rank->gpus.empty()) return "no GPU is left for the evaluator";
  return "binding.gpus: one-per-process";
}

/// jax.distributed.initialize() learns the number of processes only from a launcher that it knows,
/// and takes this variable as a sign of Open MPI 4 (jax/_src/clusters/ompi_cluster.py). If
/// JAX_COORDINATOR_ADDRESS is not set, it reads the address from this variable.
std::string open_mpi_uri(const View& v) {
  const bool is_ipv6 = v.plan.master.address.find(':') != std::string::npos;
  return (is_ipv6 ? "0.0;tcp6://" : "0.0;tcp://") + coordinator(v);
}

// In the order in which they are printed. Sources: docs/rules/env-vars.md; torchrun's set;
// DeepSpeed's LOCAL_SIZE and CROSS_*. "1" and "True"/"False" are spelled as the programs that read
// them expect. gcp: "Distributed PyTorch training" and "Distributed training with containers" of AI
// Platform Training. mpi: mpirun(1) of Open MPI 4, "Exported Environment Variables"; Azure ML's and
// DeepSpeed's readers of AZ_*; components of Open MPI 4.1 measured one by one.
constexpr unsigned kBothTorch = kTorch | kTorchPerNode;
constexpr unsigned kWithMaster = kBothTorch | kTorchOnce;
constexpr unsigned kWithNccl = kBothTorch | kTensorflow | kGcp | kMpi | kJax;
constexpr Row kTable[] = {
    {"RANK", kTorch, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->rank.value); },
     "global rank, hosts in the order given"},
    {"RANK", kGcp, Scope::rank, Keep::no,
     [](const View& v) { return for_trainers(v, [&] { return *number(v.rank->rank.value); }); },
     "index of the machine, as Google counts them: the chief is 0, worker i is i + 1"},
    {"LOCAL_RANK", kTorch, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->local_rank.value); },
     "index on its node; selects the GPU"},
    {"WORLD_SIZE", kTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.ranks.size()); }, "number of ranks"},
    {"WORLD_SIZE", kGcp, Scope::role, Keep::no,
     [](const View& v) { return for_trainers(v, [&] { return *number(v.trainers); }); },
     "number of machines, as Google counts them: chief and workers"},
    {"LOCAL_WORLD_SIZE", kTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node->ranks.size()); }, "ranks on this node"},
    {"MASTER_ADDR", kWithMaster, Scope::job, Keep::no,
     [](const View& v) -> Value { return v.plan.master.address; }, "",
     [](const View& v) { return v.plan.master.reason; }},
    {"MASTER_ADDR", kGcp, Scope::role, Keep::no,
     [](const View& v) { return for_trainers(v, [&] { return v.plan.master.address; }); }, "",
     [](const View& v) { return v.plan.master.reason; }},
    {"MASTER_PORT", kWithMaster, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.master.port); }, "", master_port_reason},
    {"MASTER_PORT", kGcp, Scope::role, Keep::no,
     [](const View& v) { return for_trainers(v, [&] { return *number(v.plan.master.port); }); }, "",
     master_port_reason},
    {"OMPI_COMM_WORLD_RANK", kMpi, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->rank.value); }, "rank in MPI_COMM_WORLD (Open MPI)"},
    {"OMPI_COMM_WORLD_SIZE", kMpi, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.ranks.size()); },
     "size of MPI_COMM_WORLD (Open MPI)"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", kMpi, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->local_rank.value); }, "index on its node"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", kMpi, Scope::node, Keep::no,
     [](const View& v) { return number(v.node->ranks.size()); }, "ranks on this node"},
    {"OMPI_COMM_WORLD_NODE_RANK", kMpi, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->local_rank.value); },
     "index on its node among all jobs of an mpirun, here only this one (not the index of the "
     "node)"},
    {"OMPI_UNIVERSE_SIZE", kMpi, Scope::job, Keep::no,
     [](const View& v) {
       return if_started_by_us(v, [&] { return *number(v.plan.ranks.size()); });
     },
     "slots of the job: all are in use, so nothing can be spawned"},
    {"PMI_RANK", kMpi, Scope::rank, Keep::no,
     [](const View& v) { return for_pmi1(v, [&] { return *number(v.rank->rank.value); }); },
     "rank in MPI_COMM_WORLD, for MPICH and Intel MPI"},
    {"PMI_SIZE", kMpi, Scope::job, Keep::no,
     [](const View& v) { return for_pmi1(v, [&] { return *number(v.plan.ranks.size()); }); },
     "size of MPI_COMM_WORLD, for MPICH and Intel MPI"},
    {"PMI_FD", kMpi, Scope::job, Keep::no,
     [](const View& v) { return for_pmi1(v, [] { return std::to_string(kPmiDescriptor); }); },
     "the descriptor by which MPICH and Intel MPI reach dlaunch at startup"},
    {"MPI_LOCALRANKID", kMpi, Scope::rank, Keep::no,
     [](const View& v) { return for_pmi1(v, [&] { return *number(v.rank->local_rank.value); }); },
     "index on its node (Hydra)"},
    {"MPI_LOCALNRANKS", kMpi, Scope::node, Keep::no,
     [](const View& v) { return for_pmi1(v, [&] { return *number(v.node->ranks.size()); }); },
     "ranks on this node (Hydra)"},
    {"MPIR_CVAR_PMI_VERSION", kMpi, Scope::node, Keep::if_set,
     [](const View& v) { return for_either(v, "1"); },
     "MPICH 5 finds both PMI-1 and PMIx, and would refuse to choose"},
    {"JSM_JSRUN_PORT", kMpi, Scope::job, Keep::no, [](const View& v) { return for_pmix(v, "0"); },
     "tells Open MPI 4 that there is a PMIx server; otherwise every rank would be a world of its "
     "own"},
    {"AZ_BATCH_MASTER_NODE", kMpi, Scope::job, Keep::no, master_node,
     "where the ranks of several nodes meet (Azure)"},
    {"AZ_BATCH_HOST_LIST", kMpi, Scope::job, Keep::no, host_list,
     "addresses of the nodes, Azure's name; on several nodes"},
    {"AZ_BATCHAI_MPI_MASTER_NODE", kMpi, Scope::job, Keep::no, master_host,
     "host of rank 0, Azure's name; read on a single node"},
    {"RANK", kMpi, Scope::rank, Keep::no,
     [](const View& v) { return for_torch(v, [&] { return *number(v.rank->rank.value); }); },
     "mpi.torch_variables: global rank"},
    {"LOCAL_RANK", kMpi, Scope::rank, Keep::no,
     [](const View& v) { return for_torch(v, [&] { return *number(v.rank->local_rank.value); }); },
     "mpi.torch_variables: index on its node; selects the GPU"},
    {"WORLD_SIZE", kMpi, Scope::job, Keep::no,
     [](const View& v) { return for_torch(v, [&] { return *number(v.plan.ranks.size()); }); },
     "mpi.torch_variables: number of ranks"},
    {"NODE_RANK", kMpi, Scope::node, Keep::no,
     [](const View& v) { return for_torch(v, [&] { return *number(v.node_index); }); },
     "mpi.torch_variables: index of the node; Lightning counts ranks by it"},
    {"MASTER_ADDR", kMpi, Scope::job, Keep::no,
     [](const View& v) { return for_torch(v, [&] { return v.plan.master.address; }); }, "",
     [](const View& v) { return "mpi.torch_variables: " + v.plan.master.reason; }},
    {"MASTER_PORT", kMpi, Scope::job, Keep::no,
     [](const View& v) { return for_torch(v, [&] { return *number(v.plan.master.port); }); }, "",
     master_port_reason},
    {kMcaTcpInclude, kMpi, Scope::node, Keep::if_set, tcp_interface, kMeetingInterface},
    {"UCX_NET_DEVICES", kMpi, Scope::node, Keep::if_set, ucx_adapters, "",
     [](const View& v) { return v.fabric->ucx_net_devices->reason; }, VariableSource::fabric},
    {kPml, kMpi, Scope::node, Keep::if_set,
     [](const View& v) { return without_rdma<kPml>(v, "ob1"); }, "", no_rdma_reason<kPml>},
    {kBtl, kMpi, Scope::node, Keep::if_set,
     [](const View& v) { return without_rdma<kBtl>(v, "self,vader,tcp"); }, "",
     no_rdma_reason<kBtl>},
    {kMtl, kMpi, Scope::node, Keep::if_set,
     [](const View& v) { return without_rdma<kMtl>(v, "^ofi,psm,psm2"); }, "",
     no_rdma_reason<kMtl>},
    {kOsc, kMpi, Scope::node, Keep::if_set,
     [](const View& v) { return without_rdma<kOsc>(v, "^ucx"); }, "", no_rdma_reason<kOsc>},
    {"FI_TCP_IFACE", kMpi, Scope::node, Keep::if_set, fi_interface, kMeetingInterface},
    {"UCX_NET_DEVICES", kMpi, Scope::node, Keep::if_set, ucx_interface, kMeetingInterface},
    {"OMPI_MCA_mpi_yield_when_idle", kMpi, Scope::node, Keep::if_set, yield_when_idle,
     "more ranks than cores: a waiting rank yields its core"},
    {"HOROVOD_CONTROLLER", kMpi, Scope::node, Keep::if_set, for_horovod,
     "Horovod's ranks meet through MPI, not through Gloo"},
    {"HOROVOD_CPU_OPERATIONS", kMpi, Scope::node, Keep::if_set, for_horovod,
     "Horovod's ranks meet through MPI, not through Gloo"},
    {"JAX_COORDINATOR_ADDRESS", kJax, Scope::job, Keep::no,
     [](const View& v) -> Value { return coordinator(v); }, "",
     [](const View& v) { return v.plan.master.reason; }},
    {"OMPI_MCA_orte_hnp_uri", kJax, Scope::job, Keep::no,
     [](const View& v) -> Value { return open_mpi_uri(v); },
     "tells JAX that the next three variables are set"},
    {"OMPI_COMM_WORLD_SIZE", kJax, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.ranks.size()); }, "number of processes, for JAX"},
    {"OMPI_COMM_WORLD_RANK", kJax, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->rank.value); }, "id of the process, for JAX"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", kJax, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->local_rank.value); },
     "index on its node; selects the device"},
    {"COORDINATOR_ADDRESS", kJax, Scope::job, Keep::no,
     [](const View& v) -> Value { return v.plan.master.address; }, "Kubeflow's name (JAXJob)"},
    {"COORDINATOR_PORT", kJax, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.master.port); }, "", master_port_reason},
    {"NUM_PROCESSES", kJax, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.ranks.size()); }, "Kubeflow's name (JAXJob)"},
    {"PROCESS_ID", kJax, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->rank.value); }, "Kubeflow's name (JAXJob)"},
    {"TF_CONFIG", kTensorflow, Scope::rank, Keep::no,
     [](const View& v) -> Value {
       const auto type = task_type(tf_config_form(v.spec), v.rank->role);
       return tf_config(v.tf_cluster, type, v.rank->role_rank);
     },
     "", tf_config_reason},
    {"TF_NUM_INTEROP_THREADS", kTensorflow | kGcp, Scope::node, Keep::if_set, interop_threads,
     "TensorFlow's default on one core is one thread, with which parameter servers wait forever"},
    {"TF_CONFIG", kGcp, Scope::rank, Keep::no,
     [](const View& v) -> Value { return gcp_tf_config(v); }, "", tf_config_reason},
    {"CLUSTER_SPEC", kGcp, Scope::rank, Keep::no,
     [](const View& v) -> Value {
       const auto type = task_type(cluster_spec_form(v.spec), v.rank->role);
       return tf_config(v.cluster_spec, type, v.rank->role_rank, kNoTrainingInput);
     },
     "every replica and this one's index, under Google's names"},
    {"CUDA_VISIBLE_DEVICES", kEvery, Scope::job, Keep::no,
     [](const View& v) -> Value {
       return v.spec.binding.gpus == Binding::Gpus::none ? Value("-1") : std::nullopt;
     },
     "binding.gpus: none"},
    {"CUDA_VISIBLE_DEVICES", kEvery, Scope::rank, Keep::no, visible_devices, "",
     visible_devices_reason},
    {"OMP_NUM_THREADS", kEvery, Scope::node, Keep::if_set, threads, "", threads_reason},
    {"NODE_RANK", kBothTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node"},
    {"GROUP_RANK", kBothTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node (torchrun)"},
    {"GROUP_WORLD_SIZE", kBothTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.nodes.size()); }, "number of nodes (torchrun)"},
    {"ROLE_NAME", kTorch, Scope::role, Keep::no,
     [](const View& v)
         -> Value { return v.rank != nullptr ? v.rank->role : v.plan.ranks.front().role; },
     "role of the rank"},
    {"ROLE_RANK", kTorch, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->role_rank); }, "index within the role"},
    {"ROLE_WORLD_SIZE", kTorch, Scope::role, Keep::no,
     [](const View& v) { return number(v.role_size); }, "ranks of the role"},
    {"LOCAL_SIZE", kTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node->ranks.size()); }, "ranks on this node (DeepSpeed)"},
    {"CROSS_RANK", kTorch, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node (DeepSpeed)"},
    {"CROSS_SIZE", kTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.nodes.size()); }, "number of nodes (DeepSpeed)"},
    {"TORCHELASTIC_RUN_ID", kTorch, Scope::job, Keep::no,
     [](const View& v) -> Value { return run_id(v); }, "id of the run; Lightning checks for it"},
    {"TORCHELASTIC_RESTART_COUNT", kTorch, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.attempt.value); }, "restarts so far"},
    {"TORCHELASTIC_MAX_RESTARTS", kTorch, Scope::job, Keep::no,
     [](const View&
            v) { return number(static_cast<std::size_t>(std::max(v.spec.restart.max, 0))); },
     "restart.max"},
    {"TORCHELASTIC_USE_AGENT_STORE", kTorch, Scope::job, Keep::no,
     [](const View&) -> Value { return "False"; }, "rank 0 hosts the store at MASTER_PORT"},
    {"TORCHELASTIC_ERROR_FILE", kTorch, Scope::rank, Keep::no, error_file,
     "PyTorch writes the exception of a failed rank here"},
    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", kTorch, Scope::node, Keep::if_set,
     [](const View&) -> Value { return "1"; },
     "a failed collective ends the rank instead of hanging"},
    {"NCCL_SOCKET_IFNAME", kWithNccl, Scope::node, Keep::if_set, nccl_interface, kMeetingInterface},
    {"GLOO_SOCKET_IFNAME", kBothTorch | kGcp | kMpi, Scope::node, Keep::if_set,
     [](const View& v) { return meeting_interface(v, ""); }, kMeetingInterface},
    {"TP_SOCKET_IFNAME", kBothTorch | kGcp, Scope::node, Keep::if_set,
     [](const View& v) { return meeting_interface(v, ""); }, kMeetingInterface},
    {"NCCL_IB_HCA", kWithNccl, Scope::node, Keep::if_set,
     [](const View& v) { return fabric_value(v, &NodeFabric::nccl_ib_hca); }, "",
     [](const View& v) { return v.fabric->nccl_ib_hca->reason; }, VariableSource::fabric},
    {"NCCL_IB_GID_INDEX", kWithNccl, Scope::node, Keep::if_set,
     [](const View& v) { return fabric_value_of_ports(v, &NodeFabric::nccl_ib_gid_index); }, "",
     [](const View& v) { return v.fabric->nccl_ib_gid_index->reason; }, VariableSource::fabric},
    {"PYTHONUNBUFFERED", kWithMaster | kTensorflow | kGcp | kMpi | kJax, Scope::node, Keep::if_set,
     [](const View&) -> Value { return "1"; }, "output appears as soon as it is written"},
    {"DLAUNCH_HOSTFILE", kOnce, Scope::job, Keep::no,
     [](const View& v) -> Value { return hostfile(v, HostfileDialect::slots); },
     "the nodes, \"name slots=N\": deepspeed --hostfile, mpirun --hostfile, horovodrun -hostfile"},
    {"DLAUNCH_HOSTFILE_HYDRA", kOnce, Scope::job, Keep::no,
     [](const View& v) -> Value { return hostfile(v, HostfileDialect::hydra); },
     "the nodes, \"name:N\": mpiexec -f of MPICH and Intel MPI"},
    {"DLAUNCH_NODES", kOnce, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.hosts.size()); }, "nodes in the hostfile"},
    {"DLAUNCH_SLOTS", kOnce, Scope::job, Keep::no, slots_in_all, "processes for these nodes"},
    {"OMPI_MCA_orte_default_hostfile", kOnce, Scope::node, Keep::if_set,
     [](const View& v) { return default_hostfile(v, HostfileDialect::slots); },
     "for an mpirun of Open MPI 4 that names no hosts"},
    {"HYDRA_HOST_FILE", kOnce, Scope::node, Keep::if_set,
     [](const View& v) { return default_hostfile(v, HostfileDialect::hydra); },
     "for an mpiexec of MPICH that names no hosts"},
    {"I_MPI_HYDRA_HOST_FILE", kOnce, Scope::node, Keep::if_set,
     [](const View& v) { return default_hostfile(v, HostfileDialect::hydra); },
     "for an mpirun of Intel MPI that names no hosts"},
    {"DLAUNCH_RUN_ID", kEvery, Scope::job, Keep::no,
     [](const View& v) -> Value { return run_id(v); }, "id of the run"},
    {"DLAUNCH_RANK", kEvery, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->rank.value); }, "global rank"},
    {"DLAUNCH_WORLD_SIZE", kEvery, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.ranks.size()); }, "number of ranks"},
    {"DLAUNCH_LOCAL_RANK", kEvery, Scope::rank, Keep::no,
     [](const View& v) { return number(v.rank->local_rank.value); }, "index on its node"},
    {"DLAUNCH_NODE_RANK", kEvery, Scope::node, Keep::no,
     [](const View& v) { return number(v.node_index); }, "index of the node"},
    {"DLAUNCH_DEADLINE_FILE", kEvery, Scope::node, Keep::no, deadline_file,
     "a file that appears when the job's end is announced, with its time in seconds since the "
     "epoch"},
    {"DLAUNCH_HEARTBEAT_FILE", kEvery, Scope::rank, Keep::no, heartbeat_file,
     "a file that the rank may touch to show that it makes progress"},
    {"DLAUNCH_ATTEMPT", kEvery, Scope::job, Keep::no,
     [](const View& v) { return number(v.plan.attempt.value); }, "restarts so far"},
};

constexpr bool is_kept_from_jobs(const Row& row, Framework framework, unsigned profiles) {
  // CUDA_VISIBLE_DEVICES in `env` is respected as a restriction, like an inherited one.
  return (row.profiles & profiles) == 0 || row.keep == Keep::if_set ||
         row.name == "CUDA_VISIBLE_DEVICES" || is_rank_variable(framework, row.name);
}

constexpr bool every_name_is_known() {
  for (const Row& row : kTable) {
    for (const Framework torch : {Framework::pytorch, Framework::deepspeed}) {
      if (!is_kept_from_jobs(row, torch, kWithMaster)) return false;
    }
    for (const Framework mpi : {Framework::mpi, Framework::horovod}) {
      if (!is_kept_from_jobs(row, mpi, kMpi)) return false;
    }
    if (!is_kept_from_jobs(row, Framework::tensorflow, kTensorflow) ||
        !is_kept_from_jobs(row, Framework::gcp, kGcp) ||
        !is_kept_from_jobs(row, Framework::jax, kJax) ||
        !is_kept_from_jobs(row, Framework::none, kNone | kNoneOnce))
      return false;
  }
  return true;
}
static_assert(every_name_is_known(),
              "a row sets a name that model/rank_variables.h does not keep jobs from setting");

}  // namespace

std::span<const Row> rows() {
  return kTable;
}

std::span<const std::string_view> deciding_variables() {
  return kDeciding;
}

Environment chosen_in_mca_files(const NodeFacts& facts) {
  Environment chosen = facts.mca_settings;
  std::erase_if(chosen, [](const auto& setting) { return is_exclusion(setting.second); });
  return chosen;
}

Profile profile_of(const JobSpec& spec) {
  if (spec.launch == Launch::once) return is_torch(spec.framework) ? kTorchOnce : kNoneOnce;
  if (spec.framework == Framework::tensorflow) return kTensorflow;
  if (spec.framework == Framework::gcp) return kGcp;
  if (uses_mpi(spec.framework)) return kMpi;
  if (spec.framework == Framework::jax) return kJax;
  if (!is_torch(spec.framework)) return kNone;
  return spec.launch == Launch::per_node ? kTorchPerNode : kTorch;
}

}  // namespace dlaunch::rank_table
