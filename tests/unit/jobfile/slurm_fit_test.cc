// Allocations as described by salloc, sbatch and srun of Slurm 22.05 (slurm_allocation_test.cc).
#include "jobfile/slurm_fit.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using testing::HasSubstr;

Environment two_nodes(const Environment& more) {
  Environment environment = {{"SLURM_JOB_ID", "17"},
                             {"SLURM_JOB_NODELIST", "node[1-2]"},
                             {"SLURM_JOB_CPUS_PER_NODE", "6(x2)"},
                             {"SLURM_TASKS_PER_NODE", "3(x2)"}};
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

struct Fit {
  const char* name;
  std::function<void(JobSpec&)> change;
  Environment more;
  const char* error;  // empty: it fits
};

void PrintTo(const Fit& fit, std::ostream* out) {
  *out << fit.name;
}

ProcessesPerNode per_node(int count) {
  return {ProcessesPerNode::Kind::count, count};
}

RoleSpec role(const char* name, int count, std::optional<int> nodes = {}) {
  RoleSpec role;
  role.name = name;
  role.count = count;
  role.nodes = nodes;
  return role;
}

const Environment kOneTask = {{"SLURM_TASKS_PER_NODE", "1(x2)"}};
const Fit kFits[] = {
    {"nothing asked for", [](JobSpec&) {}, {}, ""},
    {"as many nodes",
     [](JobSpec& job) {
       job.nodes = {2, 2};
     },
     {},
     ""},
    {"nodes",
     [](JobSpec& job) {
       job.nodes = {4, 4};
     },
     {},
     "\"nodes: 4\" but the Slurm allocation (job 17) has 2 nodes\n         try: --nodes=4 for "
     "salloc or sbatch, or nodes: 2 in the job"},
    {"spares",
     [](JobSpec& job) {
       job.nodes = {2, 2};
       job.spares = 1;
     },
     {},
     "\"nodes: 2\" and \"spares: 1\" but the Slurm allocation (job 17) has 2 nodes\n         try: "
     "--nodes=3 for salloc or sbatch, or nodes: 1 in the job"},
    {"too many spares",
     [](JobSpec& job) {
       job.nodes = {1, 1};
       job.spares = 2;
     },
     {},
     "try: --nodes=3 for salloc or sbatch, or fewer spares in the job"},
    {"elastic",
     [](JobSpec& job) {
       job.nodes = {1, 8};
     },
     {},
     ""},
    {"as many ranks as tasks", [](JobSpec& job) { job.processes_per_node = per_node(3); }, {}, ""},
    {"ranks beyond tasks",
     [](JobSpec& job) { job.processes_per_node = per_node(4); },
     {},
     "\"processes_per_node: 4\" but the Slurm allocation (job 17) has 3 tasks on node1\n"
     "         try: --ntasks-per-node=4, or processes_per_node: 3"},
    {"the node with the fewest",
     [](JobSpec& job) { job.processes_per_node = per_node(2); },
     {{"SLURM_TASKS_PER_NODE", "2,1"}},
     "has 1 task on node2"},
    {"a node that is not used",
     [](JobSpec& job) {
       job.processes_per_node = per_node(2);
       job.nodes = {1, 1};
     },
     {{"SLURM_TASKS_PER_NODE", "2,1"}},
     ""},
    {"ranks up to the CPUs", [](JobSpec& job) { job.processes_per_node = per_node(6); }, kOneTask,
     ""},
    {"ranks beyond CPUs", [](JobSpec& job) { job.processes_per_node = per_node(8); }, kOneTask,
     "\"processes_per_node: 8\" but the Slurm allocation (job 17) has 6 CPUs on node1\n"
     "         try: --ntasks-per-node=8 or more --cpus-per-task, or processes_per_node: 6"},
    {"ranks beyond GPUs",
     [](JobSpec& job) { job.processes_per_node = per_node(3); },
     {{"SLURM_GPUS_PER_NODE", "2"}},
     "\"processes_per_node: 3\" but the Slurm allocation (job 17) has 2 GPUs on node1\n"
     "         try: --gpus-per-node=3, or processes_per_node: 2, or binding.gpus: none"},
    {"ranks without GPUs",
     [](JobSpec& job) {
       job.processes_per_node = per_node(3);
       job.binding.gpus = Binding::Gpus::none;
     },
     {{"SLURM_GPUS_PER_NODE", "2"}},
     ""},
    {"as many in all", [](JobSpec& job) { job.processes = 6; }, {}, ""},
    {"more in all than tasks",
     [](JobSpec& job) { job.processes = 7; },
     {},
     "\"processes: 7\" but the Slurm allocation (job 17) has 6 tasks\n         try: --ntasks=7, or "
     "processes: 6"},
    {"more in all than CPUs", [](JobSpec& job) { job.processes = 13; }, kOneTask,
     "\"processes: 13\" but the Slurm allocation (job 17) has 12 CPUs"},
    {"ranks beyond the GPUs of the second node",
     [](JobSpec& job) { job.processes_per_node = per_node(2); },
     {{"SLURM_GPUS", "3"}, {"SLURM_GPUS_ON_NODE", "2"}},
     "\"processes_per_node: 2\" but the Slurm allocation (job 17) has 1 GPU on node2\n"
     "         try: --gpus-per-node=2, or processes_per_node: 1, or binding.gpus: none"},
    {"ranks beyond GPUs on unknown nodes",
     [](JobSpec& job) { job.processes_per_node = per_node(2); },
     {{"SLURM_GPUS", "3"}},
     "has 3 GPUs on 2 nodes\n         try: --gpus-per-node=2, or binding.gpus: none"},
    {"as many ranks as GPUs for tasks",
     [](JobSpec& job) { job.processes = 4; },
     {{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_TASKS_PER_NODE", "3,1"}},
     ""},
    {"more in all than GPUs",
     [](JobSpec& job) { job.processes = 5; },
     {{"SLURM_GPUS_ON_NODE", "2"}},
     "\"processes: 5\" but the Slurm allocation (job 17) has 4 GPUs\n         try: "
     "--gpus-per-node=3, or processes: 4, or binding.gpus: none"},
    {"more in all than GPUs somewhere",
     [](JobSpec& job) { job.processes = 5; },
     {{"SLURM_GPUS", "4"}},
     "has 4 GPUs\n"},
    {"tasks fill a node beyond its GPUs",
     [](JobSpec& job) { job.processes = 4; },
     {{"SLURM_GPUS_PER_NODE", "2"}},
     "\"processes: 4\" puts 3 ranks on node1, by its number of tasks, but the Slurm allocation "
     "(job 17) has 2 GPUs "
     "there\n         try: --ntasks-per-node=2, or binding.gpus: none"},
    {"spread, no node is filled",
     [](JobSpec& job) {
       job.processes = 4;
       job.placement = PlacementPolicy::spread;
     },
     {{"SLURM_GPUS_PER_NODE", "2"}},
     ""},
    {"tasks and GPUs alike",
     [](JobSpec& job) { job.processes = 4; },
     {{"SLURM_GPUS_PER_NODE", "2"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}},
     ""},
    {"a rank for each GPU",
     [](JobSpec& job) { job.processes_per_node.kind = ProcessesPerNode::Kind::gpu; },
     {{"SLURM_GPUS_PER_NODE", "2"}},
     ""},
    {"hosts for a launcher of its own",
     [](JobSpec& job) {
       job.launch = Launch::once;
       job.processes = 6;
     },
     {{"SLURM_GPUS_PER_NODE", "2"}},
     ""},
    {"more hosts for it than tasks",
     [](JobSpec& job) {
       job.launch = Launch::once;
       job.processes = 7;
     },
     {},
     "has 6 tasks"},
    {"more ranks than CPUs on purpose",
     [](JobSpec& job) {
       job.framework = Framework::mpi;
       job.mpi.oversubscribe = true;
       job.processes_per_node = per_node(8);
     },
     kOneTask, ""},
    {"more in all than CPUs on purpose",
     [](JobSpec& job) {
       job.framework = Framework::mpi;
       job.mpi.oversubscribe = true;
       job.processes = 13;
     },
     kOneTask, ""},
    {"roles that fit",
     [](JobSpec& job) {
       job.roles = {role("chief", 1), role("worker", 4), role("ps", 1)};
     },
     {},
     ""},
    {"roles beyond tasks",
     [](JobSpec& job) {
       job.roles = {role("chief", 1), role("worker", 4), role("ps", 2)};
     },
     {},
     "\"roles: {chief: 1, worker: 4, ps: 2}\", 7 processes but the Slurm allocation (job 17) has 6 "
     "tasks\n         try: --ntasks=7"},
    {"roles beyond CPUs", [](JobSpec& job) { job.roles = {role("worker", 13)}; }, kOneTask,
     "\"roles: {worker: 13}\", 13 processes but the Slurm allocation (job 17) has 12 CPUs"},
    {"a role on more nodes",
     [](JobSpec& job) { job.roles = {role("worker", 4, 3)}; },
     {},
     "role worker: \"nodes: 3\" but the Slurm allocation (job 17) has 2 nodes\n         try: "
     "--nodes=3 for salloc or sbatch, or nodes: 2 for the role"},
    {"a role on too few nodes",
     [](JobSpec& job) {
       job.roles = {role("worker", 2), role("ps", 4, 1)};
     },
     {},
     "role ps: \"count: 4\" on 1 node but the Slurm allocation (job 17) has 3 tasks on node1\n"
     "         try: --ntasks-per-node=4, or more nodes for the role"},
    {"roles may share GPUs",
     [](JobSpec& job) { job.roles = {role("worker", 4)}; },
     {{"SLURM_GPUS_PER_NODE", "1"}},
     ""},
    {"roles with a GPU each",
     [](JobSpec& job) {
       job.roles = {role("chief", 1), role("worker", 2), role("ps", 1), role("evaluator", 1)};
       job.binding.gpus = Binding::Gpus::one_per_process;
     },
     {{"SLURM_GPUS_PER_NODE", "1"}},
     "\"roles: {chief: 1, worker: 2, ps: 1, evaluator: 1}\", 5 processes, of which 3 need a GPU "
     "each (binding.gpus: one-per-process), but the Slurm allocation (job 17) has 2 GPUs\n"
     "         try: --gpus-per-node=2, or binding.gpus: all"},
    {"one process a node counts for itself",
     [](JobSpec& job) {
       job.processes_per_node = per_node(9);
       job.launch = Launch::per_node;
     },
     {},
     ""},
};

class FitsIn : public testing::TestWithParam<Fit> {};

TEST_P(FitsIn, OrNamesBothNumbers) {
  JobSpec job;
  GetParam().change(job);
  const Status fits = check_allocation(job, **read_slurm_allocation(two_nodes(GetParam().more)));
  const std::string error = fits ? "" : fits.error().message;
  if (std::string(GetParam().error).empty()) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_THAT(error, HasSubstr(GetParam().error));
  }
}
INSTANTIATE_TEST_SUITE_P(All, FitsIn, testing::ValuesIn(kFits));

}  // namespace
}  // namespace dlaunch
