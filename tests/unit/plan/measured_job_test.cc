#include "plan/measured_job.h"

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

MeasureWish wish_of(MeasureBackend backend, bool count_given = false) {
  return {backend, true, true, count_given};
}

TEST(PlaceMeasurement, TakesNcclWhereEveryNodeHasAGpu) {
  JobSpec spec;
  const auto place =
      place_measurement(wish_of(MeasureBackend::automatic), cluster_of({8, 4}), spec);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->backend, MeasureBackend::nccl);
  EXPECT_EQ(place->ranks, 12U);
  EXPECT_THAT(place->per_node, ElementsAre(8, 4));
}

TEST(PlaceMeasurement, TakesMpiWhereOneHasNone) {
  JobSpec spec;
  const auto place =
      place_measurement(wish_of(MeasureBackend::automatic), cluster_of({8, 0}), spec);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->backend, MeasureBackend::mpi);
  EXPECT_THAT(place->per_node, ElementsAre(1, 1));
}

TEST(PlaceMeasurement, MpiTakesTwoRanksOnASingleNode) {
  JobSpec spec;
  const auto place = place_measurement(wish_of(MeasureBackend::mpi), cluster_of({8}), spec);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_THAT(place->per_node, ElementsAre(2));
}

TEST(PlaceMeasurement, KeepsWhatTheUserSays) {
  JobSpec spec;
  spec.processes = 5;
  const auto place =
      place_measurement(wish_of(MeasureBackend::mpi, true), cluster_of({0, 0}), spec);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->ranks, 5U);
  EXPECT_THAT(place->per_node, ElementsAre(3, 2));
}

TEST(PlaceMeasurement, MpiTakesSlotsWhereHostsHaveThem) {
  JobSpec spec;
  Cluster cluster = cluster_of({0, 0});
  for (Node& node : cluster.nodes) node.slots = 4;
  const auto place = place_measurement(wish_of(MeasureBackend::mpi), cluster, spec);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_THAT(place->per_node, ElementsAre(4, 4));
}

TEST(PlaceMeasurement, NamesTheNodeWithoutAGpu) {
  JobSpec spec;
  const auto place = place_measurement(wish_of(MeasureBackend::nccl), cluster_of({8, 0}), spec);
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("node2 has no GPU"));
  EXPECT_EQ(place.error().exit_code, exit_code::kPreflight);
}

// NCCL: "Duplicate GPU detected".
TEST(PlaceMeasurement, NoTwoRanksShareAGpu) {
  JobSpec spec;
  spec.processes = 3;
  auto place =
      place_measurement(wish_of(MeasureBackend::automatic, true), cluster_of({1, 1}), spec);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->backend, MeasureBackend::mpi);
  EXPECT_EQ(place->ranks, 3U);
  place = place_measurement(wish_of(MeasureBackend::nccl, true), cluster_of({1, 1}), spec);
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, HasSubstr("fewer GPUs than ranks on node1"));
  spec.processes = 2;
  place = place_measurement(wish_of(MeasureBackend::nccl, true), cluster_of({1, 1}), spec);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(place->backend, MeasureBackend::nccl);
}

TEST(PlaceMeasurement, SaysWhatWasLeftOut) {
  JobSpec spec;
  MeasureWish wish = wish_of(MeasureBackend::nccl);
  wish.has_nccl = false;
  EXPECT_THAT(place_measurement(wish, cluster_of({1}), spec).error().message,
              HasSubstr("built without NCCL"));
  wish = {MeasureBackend::automatic, false, true, false};
  const std::string message = place_measurement(wish, cluster_of({1, 0}), spec).error().message;
  EXPECT_THAT(message, HasSubstr("built without MPI"));
  EXPECT_THAT(message, HasSubstr("node2 has none"));
}

TEST(CheckMemory, NamesTheNodeThatHasTooLittle) {
  Cluster cluster = cluster_of({0, 0});
  cluster.nodes[0].facts.memory_available_bytes = 1000;
  cluster.nodes[1].facts.memory_available_bytes = 300;
  const MeasurePlace place{MeasureBackend::mpi, {2, 2}, 4};
  EXPECT_TRUE(check_memory(place, cluster, 150));
  const Status status = check_memory(place, cluster, 151);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("2 ranks on node2 need 302 bytes, and 300 bytes"));
  EXPECT_FALSE(check_memory(place, cluster, UINT64_MAX));
  cluster.nodes[1].facts.memory_available_bytes = 0;  // not known
  EXPECT_TRUE(check_memory(place, cluster, 500));
}

}  // namespace
}  // namespace dlaunch
