// THE ONE TABLE of rank variables, as data: name, for which jobs, for whom the value is the same,
// how it is computed and why. plan/rank_env.h makes a rank's environment of it.
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

/// Who sets a row. A job has exactly one of these.
enum Profile : unsigned {
  kTorch = 1,         // pytorch and deepspeed, per-process
  kTorchPerNode = 2,  // likewise, per-node: the process starts its own workers
  kTensorflow = 4,
  kNone = 8,
  kGcp = 16,
  kTorchOnce = 32,  // likewise, once: the process is a launcher of its own
  kNoneOnce = 64,
  kMpi = 128,  // mpi and horovod
  kJax = 256,
  kEvery = 511,
};
inline constexpr unsigned kOnce = kTorchOnce | kNoneOnce;

/// For whom the value is the same. `role`: for the whole job when it has one role, else per rank.
enum class Scope { job, node, rank, role };

enum class Keep { no, if_set };

/// What a row computes its value from. `node` and `facts` are null for Scope::job, `rank` is null
/// above Scope::rank.
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
  bool has_rdma = false;               // some node of the job, or not known; so all choose alike
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
  std::string (*explain)(const View&) = nullptr;  // instead of `reason`, where it depends
  VariableSource source = VariableSource::rank;
};

/// All rows, in the order in which they are printed. A name may have several rows, for different
/// profiles or scopes.
[[nodiscard]] std::span<const Row> rows();

/// Names that no row sets, but that decide whether some row applies.
[[nodiscard]] std::span<const std::string_view> deciding_variables();

/// Of NodeFacts::mca_settings, what stands instead of ours: not lists that only exclude something,
/// which ours keep to.
[[nodiscard]] Environment chosen_in_mca_files(const NodeFacts&);

[[nodiscard]] Profile profile_of(const JobSpec& spec);

}  // namespace dlaunch::rank_table
