#include "measure/run/layout.h"

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cluster cluster_of(std::vector<int> gpus) {
  Cluster cluster;
  for (const int count : gpus) {
    Node node;
    node.name = "node" + std::to_string(cluster.nodes.size() + 1);
    for (int i = 0; i < count; ++i) {
      GpuFact gpu;
      gpu.index = i;
      gpu.uuid = "GPU-" + std::to_string(i);
      node.facts.gpus.push_back(gpu);
    }
    cluster.nodes.push_back(node);
  }
  return cluster;
}

LayoutRequest request_for(MeasureBackend backend, bool ranks_are_set = false) {
  return {backend, true, true, ranks_are_set};
}

TEST(LayOutRanks, TakesNcclWhereEveryNodeHasAGpu) {
  JobSpec spec;
  const auto layout =
      lay_out_ranks(request_for(MeasureBackend::automatic), cluster_of({8, 4}), spec);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->backend, MeasureBackend::nccl);
  EXPECT_EQ(layout->ranks, 12U);
  EXPECT_THAT(layout->per_node, ElementsAre(8, 4));
}

TEST(LayOutRanks, TakesMpiWhereANodeHasNone) {
  JobSpec spec;
  const auto layout =
      lay_out_ranks(request_for(MeasureBackend::automatic), cluster_of({8, 0}), spec);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->backend, MeasureBackend::mpi);
  EXPECT_THAT(layout->per_node, ElementsAre(1, 1));
}

TEST(LayOutRanks, MpiTakesTwoRanksOnASingleNode) {
  JobSpec spec;
  const auto layout = lay_out_ranks(request_for(MeasureBackend::mpi), cluster_of({8}), spec);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_THAT(layout->per_node, ElementsAre(2));
}

TEST(LayOutRanks, KeepsWhatTheUserSays) {
  JobSpec spec;
  spec.processes = 5;
  const auto layout =
      lay_out_ranks(request_for(MeasureBackend::mpi, true), cluster_of({0, 0}), spec);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->ranks, 5U);
  EXPECT_THAT(layout->per_node, ElementsAre(3, 2));
}

TEST(LayOutRanks, MpiTakesSlotsWhereHostsHaveThem) {
  JobSpec spec;
  Cluster cluster = cluster_of({0, 0});
  for (Node& node : cluster.nodes) node.slots = 4;
  const auto layout = lay_out_ranks(request_for(MeasureBackend::mpi), cluster, spec);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_THAT(layout->per_node, ElementsAre(4, 4));
}

TEST(LayOutRanks, NamesTheNodeWithoutAGpu) {
  JobSpec spec;
  const auto layout = lay_out_ranks(request_for(MeasureBackend::nccl), cluster_of({8, 0}), spec);
  ASSERT_FALSE(layout);
  EXPECT_THAT(layout.error().message, HasSubstr("node2 has no usable GPU"));
  EXPECT_EQ(layout.error().exit_code, exit_code::kPreflight);
}

// NCCL: "Duplicate GPU detected".
TEST(LayOutRanks, LetsNoRanksShareAGpu) {
  JobSpec spec;
  spec.processes = 3;
  auto layout =
      lay_out_ranks(request_for(MeasureBackend::automatic, true), cluster_of({1, 1}), spec);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->backend, MeasureBackend::mpi);
  EXPECT_EQ(layout->ranks, 3U);
  layout = lay_out_ranks(request_for(MeasureBackend::nccl, true), cluster_of({1, 1}), spec);
  ASSERT_FALSE(layout);
  EXPECT_THAT(layout.error().message, HasSubstr("node1 has more ranks than GPUs"));
  spec.processes = 2;
  layout = lay_out_ranks(request_for(MeasureBackend::nccl, true), cluster_of({1, 1}), spec);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->backend, MeasureBackend::nccl);
}

TEST(LayOutRanks, NamesTheBackendThatIsNotBuiltIn) {
  JobSpec spec;
  LayoutRequest request = request_for(MeasureBackend::nccl);
  request.has_nccl = false;
  EXPECT_THAT(lay_out_ranks(request, cluster_of({1}), spec).error().message,
              HasSubstr("built without NCCL"));
  request = {MeasureBackend::automatic, false, true, false};
  const std::string message = lay_out_ranks(request, cluster_of({1, 0}), spec).error().message;
  EXPECT_THAT(message, HasSubstr("built without MPI"));
  EXPECT_THAT(message, HasSubstr("node2 has none"));
}

TEST(CheckMemory, NamesTheNodeThatHasTooLittle) {
  Cluster cluster = cluster_of({0, 0});
  cluster.nodes[0].facts.memory_available_bytes = 1000;
  cluster.nodes[1].facts.memory_available_bytes = 300;
  const RankLayout layout{MeasureBackend::mpi, {2, 2}, 4};
  EXPECT_TRUE(check_memory(layout, cluster, 150));
  const Status status = check_memory(layout, cluster, 151);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("2 ranks on node2 need 302 bytes, but only 300 bytes"));
  EXPECT_FALSE(check_memory(layout, cluster, UINT64_MAX));
  cluster.nodes[1].facts.memory_available_bytes = 0;  // not known
  EXPECT_TRUE(check_memory(layout, cluster, 500));
}

}  // namespace
}  // namespace dlaunch
