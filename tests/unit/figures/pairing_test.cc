#include "measure/figures/pairing.h"

#include <map>
#include <set>

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using testing::ElementsAre;

TEST(Pairing, EveryNodeMeetsEveryOtherOnce) {
  for (int nodes = 2; nodes <= 33; ++nodes) {
    std::map<Pair, int> met;
    const int rounds = nodes % 2 == 0 ? nodes - 1 : nodes;
    for (int round = 0; round < rounds; ++round) {
      std::set<int> busy;
      for (const Pair& pair : pairs_of_round(nodes, round)) {
        ++met[pair];
        EXPECT_LT(pair.a, pair.b);
        EXPECT_TRUE(busy.insert(pair.a).second && busy.insert(pair.b).second) << nodes;
      }
      EXPECT_EQ(busy.size(), static_cast<std::size_t>(nodes - nodes % 2));
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(nodes * (nodes - 1) / 2));
    for (const auto& [pair, times] : met) EXPECT_EQ(times, 1);
  }
}

TEST(Pairing, RoundsGrowWithTheLogarithm) {
  EXPECT_EQ(rounds_for(1), 0);
  EXPECT_EQ(rounds_for(2), 1);
  EXPECT_EQ(rounds_for(3), 3);
  EXPECT_EQ(rounds_for(4), 3);
  EXPECT_EQ(rounds_for(16), 5);
  EXPECT_EQ(rounds_for(17), 6);
  EXPECT_EQ(rounds_for(1024), 11);
}

TEST(Pairing, PairsOfOneMachineTakeTurns) {
  const std::vector<Pair> pairs{{0, 1}, {2, 3}, {4, 5}};
  EXPECT_THAT(parts_of(pairs, {"a", "b", "c", "d", "e", "f"}), ElementsAre(pairs));
  EXPECT_THAT(parts_of(pairs, {}), ElementsAre(pairs));
  EXPECT_EQ(parts_of(pairs, {"a", "a", "a", "a", "a", "a"}).size(), 3U);
  EXPECT_THAT(parts_of(pairs, {"a", "b", "b", "c", "d", "e"}),
              ElementsAre(ElementsAre(Pair{0, 1}, Pair{4, 5}), ElementsAre(Pair{2, 3})));
}

TEST(Pairing, NodesOfOneMachineTakeTurns) {
  EXPECT_THAT(turns_of({"a", "b", "a", "", ""}),
              ElementsAre(ElementsAre(0, 1, 3, 4), ElementsAre(2)));
}

}  // namespace
}  // namespace dlaunch::measure
