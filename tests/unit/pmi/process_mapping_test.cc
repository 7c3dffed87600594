// Expected texts: MPICH, src/mpl/src/mpl_rankmap.c, the form "(vector,(first
// node,nodes,ranks),...)".
#include "node/pmi/process_mapping.h"

#include <gtest/gtest.h>

namespace dlaunch::pmi {
namespace {

using Nodes = std::vector<std::vector<RankSpan>>;

TEST(ProcessMapping, AsMpichReadsIt) {
  const std::vector<std::pair<Nodes, std::string>> table = {
      {{{{Rank(0), 1}}}, "(vector,(0,1,1))"},
      {{{{Rank(0), 8}}}, "(vector,(0,1,8))"},
      {{{{Rank(0), 2}}, {{Rank(2), 2}}}, "(vector,(0,2,2))"},
      {{{{Rank(0), 3}}, {{Rank(3), 1}}}, "(vector,(0,1,3),(1,1,1))"},
      {{{{Rank(0), 2}}, {{Rank(2), 2}}, {{Rank(4), 1}}}, "(vector,(0,2,2),(2,1,1))"},
      // by turns
      {{{{Rank(0), 1}, {Rank(2), 1}}, {{Rank(1), 1}, {Rank(3), 1}}}, "(vector,(0,2,1),(0,2,1))"},
      // the second node first
      {{{{Rank(2), 2}}, {{Rank(0), 2}}}, "(vector,(1,1,2),(0,1,2))"},
      // a node without ranks has no number
      {{{{Rank(0), 2}}, {}, {{Rank(2), 2}}}, "(vector,(0,2,2))"},
  };
  for (const auto& [nodes, text] : table) EXPECT_EQ(process_mapping(nodes), text);
}

TEST(ProcessMapping, NoneRatherThanOneThatClientsHaveNoRoomFor) {
  Nodes nodes;
  std::uint32_t rank = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t count = 1 + i % 2;
    nodes.push_back({{Rank(rank), count}});
    rank += count;
  }
  EXPECT_EQ(process_mapping(nodes), "");
  for (auto& spans : nodes) spans = {{Rank(0), 4}};
  for (std::uint32_t i = 0; i < 200; ++i) nodes[i][0].first = Rank(4 * i);
  EXPECT_EQ(process_mapping(nodes), "(vector,(0,200,4))");
}

}  // namespace
}  // namespace dlaunch::pmi
