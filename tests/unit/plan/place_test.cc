#include "plan/place.h"

#include <gmock/gmock.h>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using test::fake_cluster;
using test::list_job;
using testing::ElementsAre;

using Counts = std::vector<std::uint32_t>;

Result<Placement> place_job(const JobSpec& spec, const Cluster& cluster) {
  Counts gpus;
  for (const Node& node : cluster.nodes)
    gpus.push_back(static_cast<std::uint32_t>(node.facts.gpus.size()));
  return place(spec, cluster, gpus);
}

Counts counts(const JobSpec& spec, const Cluster& cluster) {
  const auto placement = place_job(spec, cluster);
  EXPECT_TRUE(placement.has_value()) << placement.error().message;
  return placement ? placement->per_node : Counts{};
}

Error error_of(const JobSpec& spec, const Cluster& cluster) {
  const auto placement = place_job(spec, cluster);
  EXPECT_FALSE(placement.has_value());
  return placement ? Error{} : placement.error();
}

JobSpec with_processes(int n) {
  JobSpec spec = list_job();
  spec.processes = n;
  return spec;
}

JobSpec with_ppn(ProcessesPerNode::Kind kind, int count = 0) {
  JobSpec spec = list_job();
  spec.processes_per_node = {kind, count};
  return spec;
}

// Rules: plan/place.h, from docs/reference/job-file.md (processes_per_node auto: one per GPU, else
// 1; processes: hosts are filled by slots, in order).

TEST(Place, AutoIsOnePerGpuElseOne) {
  EXPECT_THAT(counts(list_job(), fake_cluster({{.gpus = 3}, {.gpus = 2}})), ElementsAre(3, 2));
  EXPECT_THAT(counts(list_job(), fake_cluster({{}, {}})), ElementsAre(1, 1));
}

TEST(Place, AutoRespectsSlots) {
  EXPECT_THAT(counts(list_job(), fake_cluster({{.gpus = 8, .slots = 4}, {.gpus = 8}})),
              ElementsAre(4, 8));
  EXPECT_THAT(counts(list_job(), fake_cluster({{.slots = 4}, {.gpus = 2, .slots = 4}})),
              ElementsAre(4, 2));
}

TEST(Place, GpuNeedsAGpuOnEveryNode) {
  EXPECT_THAT(
      counts(with_ppn(ProcessesPerNode::Kind::gpu), fake_cluster({{.gpus = 3}, {.gpus = 2}})),
      ElementsAre(3, 2));
  const Error error =
      error_of(with_ppn(ProcessesPerNode::Kind::gpu), fake_cluster({{.gpus = 3}, {}}));
  EXPECT_EQ(error.message,
            "\"processes_per_node: gpu\" but node1 has no GPU\n"
            "         try: -n N, a number of processes without regard to GPUs");
  EXPECT_EQ(error.exit_code, exit_code::kJobFile);
}

TEST(Place, CountIsTakenAsItIs) {
  EXPECT_THAT(counts(with_ppn(ProcessesPerNode::Kind::count, 4), fake_cluster({{.gpus = 2}, {}})),
              ElementsAre(4, 4));
  EXPECT_EQ(error_of(with_ppn(ProcessesPerNode::Kind::count, 4), fake_cluster({{}, {.slots = 3}}))
                .message,
            "\"processes_per_node: 4\" but node1 has only 3 slots");
}

TEST(Place, ProcessesFillSlotsInOrder) {
  const Cluster cluster = fake_cluster({{.slots = 3}, {.slots = 2}, {.slots = 4}});
  EXPECT_THAT(counts(with_processes(9), cluster), ElementsAre(3, 2, 4));
  EXPECT_THAT(counts(with_processes(6), cluster), ElementsAre(3, 2, 1));
  EXPECT_THAT(counts(with_processes(4), cluster), ElementsAre(3, 1))
      << "the third node is not used";
  EXPECT_EQ(error_of(with_processes(10), cluster).message,
            "\"processes: 10\" but the hosts have only 9 slots");
}

TEST(Place, AHostWithoutSlotsBesideOthersHasItsGpusElseOne) {
  EXPECT_THAT(counts(with_processes(7), fake_cluster({{.slots = 4}, {.gpus = 2}, {}})),
              ElementsAre(4, 2, 1));
}

TEST(Place, WithoutSlotsProcessesAreSpreadEvenly) {
  EXPECT_THAT(counts(with_processes(4), fake_cluster({{}})), ElementsAre(4))
      << "one machine takes them all";
  EXPECT_THAT(counts(with_processes(5), fake_cluster({{}, {}})), ElementsAre(3, 2));
  EXPECT_THAT(counts(with_processes(8), fake_cluster({{.gpus = 8}, {.gpus = 8}})),
              ElementsAre(4, 4));
}

TEST(Place, WithoutSlotsNoNodeGetsMoreThanItsGpusWhileAnotherHasSome) {
  EXPECT_THAT(counts(with_processes(5), fake_cluster({{.gpus = 2}, {.gpus = 3}})),
              ElementsAre(2, 3));
  EXPECT_THAT(counts(with_processes(10), fake_cluster({{.gpus = 8}, {.gpus = 4}})),
              ElementsAre(6, 4));
  EXPECT_THAT(counts(with_processes(6), fake_cluster({{.gpus = 2}, {.gpus = 2}})),
              ElementsAre(3, 3))
      << "not enough";
}

TEST(Place, NodesTakesTheFirstHosts) {
  JobSpec spec = list_job();
  spec.nodes = NodeRange{2, 2};
  EXPECT_THAT(counts(spec, fake_cluster({{.gpus = 1}, {.gpus = 2}, {.gpus = 3}})),
              ElementsAre(1, 2));
}

TEST(Place, MoreNodesThanHosts) {
  JobSpec spec = list_job();
  spec.nodes = NodeRange{4, 4};
  const Error error = error_of(spec, fake_cluster({{}}));
  EXPECT_EQ(
      error.message,
      "\"nodes: 4\" but only 1 host is given (this machine); name 4 with --hosts, or run on 1 with "
      "--nnodes 1");
  EXPECT_EQ(error.exit_code, exit_code::kJobFile);
  EXPECT_EQ(
      error_of(spec, fake_cluster({{}, {}})).message,
      "\"nodes: 4\" but only 2 hosts are given; name 4 with --hosts, or run on 2 with --nnodes 2");
}

TEST(Place, AnElasticJobStartsWithWhatIsThere) {
  JobSpec spec = list_job();
  spec.nodes = NodeRange{2, 4};
  EXPECT_THAT(counts(spec, fake_cluster({{}, {}, {}})), ElementsAre(1, 1, 1));
  EXPECT_EQ(
      error_of(spec, fake_cluster({{}})).message,
      "\"nodes: {min: 2, ...}\" but only 1 host is given (this machine); name 2 with --hosts, or "
      "run on 1 with --nnodes 1");
}

TEST(Place, FewerProcessesThanNodesAskedFor) {
  JobSpec spec = with_processes(1);
  spec.nodes = NodeRange{2, 2};
  EXPECT_EQ(error_of(spec, fake_cluster({{}, {}})).message,
            "\"nodes: 2\" but only 1 process is asked for");
}

TEST(Place, PerNodeIsOneEach) {
  JobSpec spec = list_job();
  spec.launch = Launch::per_node;
  EXPECT_THAT(counts(spec, fake_cluster({{.gpus = 8}, {.gpus = 4}})), ElementsAre(1, 1));
  spec.processes_per_node = {ProcessesPerNode::Kind::count, 8};
  EXPECT_EQ(error_of(spec, fake_cluster({{.gpus = 8}})).message,
            "\"launch: per-node\" starts one process on each node; leave out processes_per_node");
}

TEST(Place, RanksAreByRoleThenByNode) {
  // docs/reference/variables.md: by role (chief, worker, ps), node-major within each. Roles were
  // written in another order.
  JobSpec spec = list_job();
  spec.framework = Framework::tensorflow;
  spec.roles = {test::role("ps", 2), test::role("worker", 3), test::role("chief", 1)};
  const auto placement = place_job(spec, fake_cluster({{}, {}}));
  ASSERT_TRUE(placement.has_value()) << placement.error().message;
  std::vector<std::string> got;
  for (const PlacedRank& rank : placement->ranks) {
    got.push_back(placement->roles[rank.role].name + std::to_string(rank.role_rank) + "@" +
                  std::to_string(rank.node.value) + "." + std::to_string(rank.local_rank.value));
  }
  // chief and workers are 4 tasks, 2 on each node; the two ps one on each.
  EXPECT_THAT(got, ElementsAre("chief0@0.0", "worker0@0.1", "worker1@1.0", "worker2@1.1", "ps0@0.2",
                               "ps1@1.2"));
}

TEST(Place, RolesThatCannotBe) {
  JobSpec spec = list_job();
  spec.roles = {test::role("chief", 2)};
  EXPECT_EQ(error_of(spec, fake_cluster({{}})).message,
            "a job has at most one chief (roles)");  // TF 2: at most one chief
  spec.roles = {test::role("worker", 1), test::role("evaluator", 2)};
  EXPECT_EQ(error_of(spec, fake_cluster({{}})).message,
            "a job has at most one evaluator (roles)");  // TF 2: at most one evaluator
  spec.roles = {test::role("evaluator", 1), test::role("ps", 1)};
  EXPECT_EQ(error_of(spec, fake_cluster({{}})).message,
            "roles has neither a chief nor a worker; give at least one of them");
  spec.roles = {test::role("boss", 1)};
  EXPECT_EQ(error_of(spec, fake_cluster({{}})).message,
            "unknown role \"boss\"; there are chief, worker, ps and evaluator");
  spec.roles = {test::role("worker", 2)};
  spec.roles[0].nodes = 3;
  EXPECT_EQ(error_of(spec, fake_cluster({{}})).message,
            "role worker: \"nodes: 3\" but only \"count: 2\"");
  spec.roles = {test::role("worker", 5)};
  EXPECT_EQ(error_of(spec, fake_cluster({{.slots = 4}})).message,
            "\"roles: 5 chief and worker tasks\" but the host has only 4 slots");
}

TEST(Place, TheEvaluatorGoesWhereThereIsRoom) {
  JobSpec spec = list_job();
  spec.framework = Framework::tensorflow;
  spec.roles = {test::role("worker", 3), test::role("evaluator", 1)};
  const auto node_of_evaluator = [&](const Cluster& cluster) {
    const auto placement = place_job(spec, cluster);
    EXPECT_TRUE(placement.has_value()) << placement.error().message;
    return placement ? placement->ranks.back().node.value : 99;
  };
  EXPECT_EQ(node_of_evaluator(fake_cluster({{}})), 0U);
  EXPECT_EQ(node_of_evaluator(fake_cluster({{}, {}})), 1U) << "2 and 1 workers";
  EXPECT_EQ(node_of_evaluator(fake_cluster({{.gpus = 4}, {.gpus = 1}})), 0U) << "GPUs are left";
  EXPECT_EQ(node_of_evaluator(fake_cluster({{}, {}, {}, {}})), 3U) << "a node of its own";
  EXPECT_EQ(node_of_evaluator(fake_cluster({{}, {}, {}, {}, {.gpus = 8}})), 3U)
      << "no node before it is left empty";
  EXPECT_THAT(counts(spec, fake_cluster({{.slots = 3}})), ElementsAre(4))
      << "it takes none of the slots";
}

JobSpec with_spread_roles() {
  JobSpec spec = list_job();
  spec.framework = Framework::gcp;
  spec.placement = PlacementPolicy::spread;
  spec.roles = {test::role("chief", 1), test::role("worker", 1), test::role("ps", 2),
                test::role("evaluator", 1)};
  return spec;
}

std::vector<std::string> nodes_of_tasks(const JobSpec& spec, const Cluster& cluster) {
  const auto placement = place_job(spec, cluster);
  EXPECT_TRUE(placement.has_value()) << placement.error().message;
  std::vector<std::string> got;
  if (!placement) return got;
  for (const PlacedRank& rank : placement->ranks)
    got.push_back(placement->roles[rank.role].name + "@" + std::to_string(rank.node.value));
  return got;
}

TEST(Place, SpreadTasksShareNoNodeWhileAnotherIsIdle) {
  const JobSpec spec = with_spread_roles();
  const std::vector<std::string> apart{"chief@0", "worker@1", "ps@2", "ps@3", "evaluator@4"};
  EXPECT_EQ(nodes_of_tasks(spec, fake_cluster({{}, {}, {}, {}, {}, {}})), apart);
  EXPECT_EQ(nodes_of_tasks(spec, fake_cluster({{.gpus = 8, .slots = 8},
                                               {.gpus = 1, .slots = 8},
                                               {.slots = 8},
                                               {.slots = 8},
                                               {.slots = 8}})),
            apart)
      << "neither slots nor GPUs bring them together";
}

TEST(Place, SpreadTasksShareWhereHostsAreShort) {
  const JobSpec spec = with_spread_roles();
  EXPECT_THAT(nodes_of_tasks(spec, fake_cluster({{}, {}, {}})),
              ElementsAre("chief@0", "worker@1", "ps@0", "ps@2", "evaluator@1"))
      << "none has two while another has none";
  EXPECT_THAT(nodes_of_tasks(spec, fake_cluster({{}})),
              ElementsAre("chief@0", "worker@0", "ps@0", "ps@0", "evaluator@0"));
  EXPECT_EQ(error_of(spec, fake_cluster({{.slots = 1}})).message,
            "\"roles: 2 chief and worker tasks\" but the host has only 1 slot");
}

TEST(Place, SpreadProcessesLeaveNoHostIdle) {
  JobSpec spec = with_processes(3);
  spec.placement = PlacementPolicy::spread;
  EXPECT_THAT(counts(spec, fake_cluster({{.slots = 4}, {.slots = 4}})), ElementsAre(2, 1));
  EXPECT_THAT(counts(spec, fake_cluster({{.slots = 1}, {.slots = 4}})), ElementsAre(1, 2));
}

TEST(Place, ARoleMayHaveFewerNodes) {
  JobSpec spec = list_job();
  spec.roles = {test::role("worker", 2), test::role("ps", 2)};
  spec.roles[1].nodes = 1;
  EXPECT_THAT(counts(spec, fake_cluster({{}, {}})), ElementsAre(3, 1));
  spec.roles[1].count = 3;
  spec.roles[1].nodes = 3;
  EXPECT_EQ(error_of(spec, fake_cluster({{}, {}})).message,
            "role ps: \"nodes: 3\" but the job has only 2 nodes");
}

}  // namespace
}  // namespace dlaunch
