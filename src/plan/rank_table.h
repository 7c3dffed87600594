// The table of rank variables, the only place that defines them: name, applicable jobs, scope,
// value and reason. plan/rank_env.h computes a rank's environment from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "plan/fabric_env.h"
#include "plan/make_plan.h"

namespace dlaunch::rank_table {

inline constexpr std::string_view kMcaTcpInclude = "OMPI_MCA_btl_tcp_if_include";
inline constexpr std::string_view kMcaTcpExclude = "OMPI_MCA_btl_tcp_if_exclude";

/// The jobs for which a row applies. A job has exactly one profile.
enum Profile : unsigned {
  kTorch = 1,         // pytorch and deepspeed, per-process
  kTorchPerNode = 2,  // pytorch and deepspeed, per-node: the process starts its own workers
  kTensorflow = 4,
  kNone = 8,
  kGcp = 16,
  kTorchOnce = 32,  // pytorch and deepspeed, once: the process is itself a launcher
  kNoneOnce = 64,
  kMpi = 128,  // mpi and horovod
  kJax = 256,
  kEvery = 511,
};
inline constexpr unsigned kOnce = kTorchOnce | kNoneOnce;

/// Which ranks share the value. `role`: all ranks of the job if it has one role, else each rank has
/// its own.
enum class Scope { job, node, rank, role };

enum class Keep { no, if_set };

/// Inputs of a row. `node` and `facts` are null for Scope::job; `rank` is null for Scope::job and
/// Scope::node.
struct View {
  const JobSpec& spec;
  const PlanContext& context;
  const LaunchPlan& plan;
  const std::string& tf_cluster;
  const std::string& cluster_spec;  // framework: gcp
  std::size_t trainers = 0;         // chief and workers
  std::uint32_t node_index = 0;
  const NodePlan* node = nullptr;
  const NodeFacts* facts = nullptr;
  const RankPlan* rank = nullptr;
  std::size_t role_size = 0;
  bool has_rdma = false;               // some node of the job has RDMA, or this is unknown
  const NodeFabric* fabric = nullptr;  // Scope::node only
};

using Value = std::optional<std::string>;  // nullopt: this row does not apply

struct Row {
  std::string_view name;
  unsigned profiles;
  Scope scope;
  Keep keep;
  Value (*value)(const View&);
  const char* reason;
  std::string (*explain)(const View&) = nullptr;  // replaces `reason` if it depends on the job
  VariableSource source = VariableSource::rank;
};

/// All rows, in output order. A name may have several rows, for different profiles or scopes.
[[nodiscard]] std::span<const Row> rows();

/// Variables that no row sets but that decide whether some row applies.
[[nodiscard]] std::span<const std::string_view> deciding_variables();

/// The entries of NodeFacts::mca_settings that replace our values. Lists that only exclude
/// components are left out, because our values respect them.
[[nodiscard]] Environment chosen_in_mca_files(const NodeFacts&);

[[nodiscard]] Profile profile_of(const JobSpec& spec);

}  // namespace dlaunch::rank_table
