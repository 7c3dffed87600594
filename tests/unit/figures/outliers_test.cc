#include "measure/figures/outliers.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A cluster with noisy measurements: every value is the true one or slower, sometimes much slower.
/// Disturbances affect suspects and the nodes measured beside them alike.
struct FakeCluster {
  int nodes = 0;
  std::vector<double> node_speed;  // of its link; 1: usual
  std::vector<double> compute;     // 1: usual
  std::set<Pair> slow_links;
  double link_factor = 0.2;
  double jitter = 0.05;         // usual spread
  double hit_chance = 0.1;      // probability of a disturbance
  double hit_depth = 0.8;       // the largest loss of speed by it
  double extra_latency_us = 0;  // of slow links instead of a lower speed
  std::mt19937 random;

  explicit FakeCluster(int count, unsigned seed)
      : nodes(count), node_speed(count, 1), compute(count, 1), random(seed) {}

  double noise() {
    std::uniform_real_distribution<double> unit(0, 1);
    double value = 1 - jitter * unit(random);
    if (unit(random) < hit_chance) value *= 1 - hit_depth * unit(random);
    return value;
  }
  Exchange exchange(Pair pair) {
    const bool is_slow = slow_links.contains(pair);
    const double link = is_slow && extra_latency_us <= 0 ? link_factor : 1;
    const double speed = std::min(node_speed[pair.a], node_speed[pair.b]) * link;
    return {pair, 10 * speed * noise(), 20 / noise() + (is_slow ? extra_latency_us : 0)};
  }
  Compute single(int node) { return {node, 50 * compute[node] * noise(), 12 * noise()}; }

  Measured check(int& questions) {
    Measured measured;
    measured.nodes = nodes;
    for (int node = 0; node < nodes; ++node) {
      measured.computes.push_back(single(node));
      measured.computes.push_back(single(node));
    }
    for (int round = 0; round < rounds_for(nodes) * repeats_for(nodes); ++round) {
      for (const Pair& pair : pairs_of_round(nodes, round))
        measured.exchanges.push_back(exchange(pair));
    }
    questions = 0;
    while (const auto question = next_question(measured)) {
      if (++questions > 100 * nodes) break;
      if (question->pair)
        measured.exchanges_alone.push_back(
            {exchange(*question->pair), exchange(*question->beside_pair)});
      if (question->node)
        measured.computes_alone.push_back(
            {single(*question->node), single(*question->beside_node)});
    }
    return measured;
  }
  Outliers outliers() {
    int questions = 0;
    const Measured measured = check(questions);
    EXPECT_LE(questions, 100 + 20 * nodes);
    return find_outliers(measured);
  }
};

std::vector<int> named(const Outliers& outliers) {
  std::set<int> nodes;
  for (const SlowNode& slow : outliers.nodes) nodes.insert(slow.node);
  return {nodes.begin(), nodes.end()};
}
std::vector<Pair> links(const Outliers& outliers) {
  std::vector<Pair> pairs;
  for (const SlowLink& slow : outliers.links) pairs.push_back(slow.pair);
  return pairs;
}

/// DLAUNCH_CHECK_SEEDS=400 takes a few minutes under sanitizers.
const unsigned kSeeds = [] {
  const char* wanted = std::getenv("DLAUNCH_CHECK_SEEDS");
  return wanted == nullptr ? 5U : static_cast<unsigned>(std::max(std::atoi(wanted), 1));
}();

TEST(Outliers, NeverNamesGoodNodes) {
  for (int nodes = 2; nodes <= 64; nodes += nodes < 9 ? 1 : 11) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      FakeCluster cluster(nodes, seed * 131 + static_cast<unsigned>(nodes));
      cluster.hit_chance = 0.3;
      const Outliers found = cluster.outliers();
      EXPECT_THAT(found.nodes, IsEmpty()) << nodes << " nodes, seed " << seed;
      EXPECT_THAT(found.links, IsEmpty()) << nodes << " nodes, seed " << seed;
    }
  }
}

TEST(Outliers, NamesASlowNodeAndNotItsPartners) {
  for (int nodes = 3; nodes <= 64; nodes += nodes < 9 ? 1 : 11) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      FakeCluster cluster(nodes, seed * 137 + static_cast<unsigned>(nodes));
      const int bad = static_cast<int>(seed) % nodes;
      cluster.node_speed[bad] = 0.05 + 0.25 * (seed % 7) / 7;
      const Outliers found = cluster.outliers();
      EXPECT_THAT(named(found), ElementsAre(bad)) << nodes << " nodes, seed " << seed;
      EXPECT_THAT(found.links, IsEmpty()) << nodes << " nodes, seed " << seed;
    }
  }
}

TEST(Outliers, NamesTwoSlowNodes) {
  for (int nodes = 7; nodes <= 64; nodes += 11) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      FakeCluster cluster(nodes, seed);
      const int one = static_cast<int>(seed) % (nodes - 1);
      cluster.node_speed[one] = 0.2;
      cluster.node_speed[nodes - 1] = 0.3;
      const Outliers found = cluster.outliers();
      EXPECT_THAT(named(found), ElementsAre(one, nodes - 1)) << nodes << " nodes, seed " << seed;
      EXPECT_THAT(found.links, IsEmpty());
    }
  }
}

TEST(Outliers, NamesASlowLinkAndNotItsNodes) {
  for (int nodes = 3; nodes <= 64; nodes += nodes < 9 ? 1 : 11) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      FakeCluster cluster(nodes, seed);
      // A link that the rounds measure; others cannot be found.
      const auto pairs = pairs_of_round(nodes, static_cast<int>(seed) % rounds_for(nodes));
      const Pair slow = pairs[seed % pairs.size()];
      cluster.slow_links.insert(slow);
      const Outliers found = cluster.outliers();
      EXPECT_THAT(found.nodes, IsEmpty()) << nodes << " nodes, seed " << seed;
      EXPECT_THAT(links(found), ElementsAre(slow)) << nodes << " nodes, seed " << seed;
    }
  }
}

TEST(Outliers, NamesALinkWithAHighLatency) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    FakeCluster cluster(8, seed);
    cluster.slow_links.insert(pairs_of_round(8, 0)[1]);
    cluster.extra_latency_us = 1000;
    EXPECT_THAT(links(cluster.outliers()), ElementsAre(pairs_of_round(8, 0)[1])) << seed;
  }
}

TEST(Outliers, NamesANodeThatComputesSlowly) {
  for (int nodes = 2; nodes <= 64; nodes += nodes < 9 ? 1 : 11) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      FakeCluster cluster(nodes, seed);
      const int bad = static_cast<int>(seed * 5) % nodes;
      cluster.compute[bad] = 0.3;
      if (seed % 2 == 0) cluster.node_speed[bad] = 0.3;
      const Outliers found = cluster.outliers();
      EXPECT_THAT(named(found), ElementsAre(bad)) << nodes << " nodes, seed " << seed;
      EXPECT_THAT(found.links, IsEmpty()) << nodes << " nodes, seed " << seed;
    }
  }
}

TEST(Outliers, CannotJudgeTheLinkOfTwoNodes) {
  FakeCluster cluster(2, 1);
  cluster.node_speed[1] = 0.1;
  EXPECT_EQ(cluster.outliers(), Outliers{});
}

TEST(Outliers, NamesNoNodeOnABusyMachine) {
  for (unsigned seed = 0; seed < 4 * kSeeds; ++seed) {
    FakeCluster cluster(16, seed);
    cluster.hit_chance = 0.6;
    cluster.hit_depth = 0.95;
    const Outliers found = cluster.outliers();
    EXPECT_THAT(found.nodes, IsEmpty()) << seed;
    EXPECT_THAT(found.links, IsEmpty()) << seed;
  }
}

TEST(Outliers, APairThatFailsIsSlow) {
  FakeCluster cluster(4, 3);
  cluster.link_factor = 0;
  cluster.slow_links.insert({1, 2});
  EXPECT_THAT(links(cluster.outliers()), ElementsAre(Pair{1, 2}));
}

TEST(Outliers, LeavesUndecidedWhatWasNotMeasuredInTime) {
  Measured measured;
  measured.nodes = 4;
  for (int node = 0; node < 4; ++node) measured.computes.push_back({node, node == 3 ? 1.0 : 10, 5});
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b)
      measured.exchanges.push_back({{a, b}, a == 1 && b == 2 ? 1.0 : 10, 20});
  }
  const Outliers found = find_outliers(measured);
  EXPECT_THAT(found.nodes, IsEmpty());
  EXPECT_THAT(found.links, IsEmpty());
  EXPECT_THAT(found.undecided, ElementsAre(3));
  EXPECT_THAT(found.undecided_links, ElementsAre(Pair{1, 2}));
}

TEST(Outliers, FindsNothingWithoutMeasurements) {
  EXPECT_EQ(find_outliers({}), Outliers{});
  EXPECT_EQ(next_question({}), std::nullopt);
  Measured one;
  one.nodes = 1;
  one.computes = {{0, 1, 1}};
  EXPECT_EQ(next_question(one), std::nullopt);
}

}  // namespace
}  // namespace dlaunch::measure
