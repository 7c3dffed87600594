#include "report/run_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dlaunch {
namespace {

using nlohmann::json;
using std::chrono::seconds;

LaunchPlan plan_of(std::vector<std::pair<std::string, int>> nodes) {
  LaunchPlan plan;
  for (const auto& [name, ranks] : nodes) {
    NodePlan node;
    node.id = NodeId(static_cast<std::uint32_t>(plan.nodes.size()) + 7);
    node.name = name;
    for (int i = 0; i < ranks; ++i) {
      RankPlan rank;
      rank.rank = Rank(static_cast<std::uint32_t>(plan.ranks.size()));
      rank.node = NodeRank(static_cast<std::uint32_t>(plan.nodes.size()));
      plan.ranks.push_back(rank);
    }
    plan.nodes.push_back(node);
  }
  return plan;
}

RankPulse rank_pulse(std::uint32_t rank, std::uint64_t cpu_ms, std::uint64_t output) {
  RankPulse pulse;
  pulse.rank = Rank(rank);
  pulse.cpu_ms = cpu_ms;
  pulse.output = output;
  pulse.memory = 5'000'000;
  pulse.processes = 1;
  return pulse;
}

json read(const RunSamples& samples) {
  return json::parse(samples.json(WallTime(seconds(1))));
}

TEST(RunSamplesTest, AmountsAreRatesPerNode) {
  RunSamples samples({});
  samples.begin(plan_of({{"gpu01", 2}, {"gpu02", 1}}), seconds(0));
  NodePulse node;
  node.cores = 8;
  samples.add(NodeId(7), node, {rank_pulse(0, 1000, 10), rank_pulse(1, 500, 20)}, seconds(1));
  samples.add(NodeId(7), node, {rank_pulse(0, 3000, 10)}, seconds(2));
  samples.add(NodeId(99), node, {rank_pulse(0, 9000, 10)}, seconds(2));  // none of ours
  const json seen = read(samples);
  EXPECT_EQ(seen["started"], "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(seen["step_s"], 1);
  const json& first = seen["nodes"][0];
  EXPECT_EQ(first["node"], "gpu01");
  EXPECT_EQ(first["cores"], 8);
  EXPECT_EQ(first["cpu"], json({150, 200, nullptr}));
  EXPECT_EQ(first["output"], json({30, 0, nullptr}));
  EXPECT_EQ(first["memory"], json({10, 10, nullptr}));
  EXPECT_FALSE(first.contains("gpu")) << "no GPU was seen";
  EXPECT_EQ(seen["nodes"][1]["cpu"], json({nullptr, nullptr, nullptr}));
}

TEST(RunSamplesTest, APulseStandsForTheTimeSinceTheLastOne) {
  RunSamples samples({});
  samples.begin(plan_of({{"a", 1}}), seconds(2));
  samples.add(NodeId(7), {}, {rank_pulse(0, 4000, 0)}, seconds(6));
  EXPECT_EQ(read(samples)["nodes"][0]["cpu"],
            json({nullptr, nullptr, 100, 100, 100, 100, nullptr}));
}

TEST(RunSamplesTest, NetworkIsSpreadOverTheTimeBetweenItsLooks) {
  RunSamples samples({});
  samples.begin(plan_of({{"a", 1}}), seconds(0));
  NodePulse node;
  node.network_bytes = 1000;
  samples.add(NodeId(7), node, {}, seconds(1));
  samples.add(NodeId(7), node, {}, seconds(2));
  node.network_bytes = 1300;
  samples.add(NodeId(7), node, {}, seconds(4));
  EXPECT_EQ(read(samples)["nodes"][0]["network"], json({0, 100, 100, 100, nullptr}));
  samples.add(NodeId(7), node, {}, seconds(90));
  node.network_bytes += 1200;
  samples.add(NodeId(7), node, {}, seconds(100));
  const json network = read(samples)["nodes"][0]["network"];
  EXPECT_EQ(network[80], 0) << "it was idle";
  EXPECT_EQ(network[95], 100);
}

TEST(RunSamplesTest, AnotherAttemptCountsItsRanksAnew) {
  RunSamples samples({});
  samples.begin(plan_of({{"a", 1}}), seconds(0));
  samples.add(NodeId(7), {}, {rank_pulse(0, 5000, 0)}, seconds(1));
  samples.begin(plan_of({{"b", 1}, {"a", 1}}), seconds(3));
  samples.add(NodeId(8), {}, {rank_pulse(1, 1000, 0)}, seconds(4));
  const json seen = read(samples);
  EXPECT_EQ(seen["nodes"][0]["node"], "a");
  EXPECT_EQ(seen["nodes"][0]["cpu"], json({500, nullptr, nullptr, 100, nullptr}));
  EXPECT_EQ(seen["nodes"][1]["node"], "b");
}

TEST(RunSamplesTest, MetricsAreLeastMeanAndGreatestOfTheRanks) {
  RunSamples samples({"loss", "step"});
  samples.begin(plan_of({{"a", 2}}), seconds(0));
  RankPulse low = rank_pulse(0, 0, 0);
  RankPulse high = rank_pulse(1, 0, 0);
  low.metrics = {{0, "0.25"}, {1, "nan"}, {9, "1"}};
  high.metrics = {{0, "0.75"}};
  RankPulse foreign = rank_pulse(2, 0, 0);
  foreign.metrics = {{0, "99"}};
  samples.add(NodeId(7), {}, {low, high, foreign}, std::chrono::milliseconds(1500));
  const json seen = read(samples);
  const json& loss = seen["metrics"][0];
  EXPECT_EQ(loss["name"], "loss");
  EXPECT_EQ(loss["low"], json({nullptr, 0.25}));
  EXPECT_EQ(loss["mean"], json({nullptr, 0.5}));
  EXPECT_EQ(loss["high"], json({nullptr, 0.75}));
  EXPECT_EQ(seen["metrics"][1]["mean"], json({nullptr, nullptr}));
}

TEST(RunSamplesTest, TheMeanOfGreatNumbersIsFinite) {
  RunSamples samples({"loss"});
  samples.begin(plan_of({{"a", 2}}), seconds(0));
  RankPulse one = rank_pulse(0, 0, 0);
  RankPulse other = rank_pulse(1, 0, 0);
  one.metrics = {{0, "1e308"}};
  other.metrics = {{0, "1.5e308"}};
  samples.add(NodeId(7), {}, {one, other}, seconds(1));
  EXPECT_EQ(read(samples)["metrics"][0]["mean"], json({nullptr, 1.25e308}));
}

TEST(RunSamplesTest, ItsSizeIsBounded) {
  RunSamples samples({"loss"});
  std::vector<std::pair<std::string, int>> nodes;
  for (int i = 0; i < 16; ++i) nodes.emplace_back("node" + std::to_string(i), 8);
  samples.begin(plan_of(nodes), seconds(0));
  constexpr int kDay = 24 * 3600;
  for (int second = 10; second <= kDay; second += 10) {
    for (std::uint32_t node = 0; node < 16; ++node) {
      RankPulse rank = rank_pulse(node * 8, static_cast<std::uint64_t>(second) * 4000, 0);
      rank.metrics = {{0, "0.5"}};
      samples.add(NodeId(node + 7), {}, {rank}, seconds(second));
    }
  }
  const std::string text = samples.json(WallTime());
  EXPECT_LT(text.size(), 800'000U);
  const json seen = json::parse(text);
  const json& cpu = seen["nodes"][15]["cpu"];
  EXPECT_LE(cpu.size(), 600U);
  EXPECT_GE(cpu.size(), 300U);
  EXPECT_GE(seen["step_s"].get<int>() * static_cast<int>(cpu.size()), kDay);
  for (std::size_t i = 0; i + 1 < cpu.size(); ++i) EXPECT_EQ(cpu[i], 400) << i;
}

}  // namespace
}  // namespace dlaunch
