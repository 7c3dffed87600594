#include "measure/figures/pair_table.h"

#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace dlaunch::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

BenchHeader header_of(std::vector<std::string> hosts) {
  BenchHeader header;
  header.operation = Operation::send_recv;
  header.backend = "mpi: Open MPI v4.1.4";
  header.hosts = std::move(hosts);
  header.iterations = 20;
  return header;
}

PairResult pair(std::uint32_t a, std::uint32_t b, double bandwidth) {
  return {a, b, 4U << 20U, 1, bandwidth};
}

TEST(ReadPair, ComputesTheBandwidthFromItsTime) {
  Record record("pair");
  record.set("a", 1.0).set("b", 3.0).set("bytes", 4e6).set("mean", 1000.0);
  EXPECT_EQ(read_pair(record), (PairResult{1, 3, 4'000'000, 1000, 4}));
}

TEST(RankLabels, HaveTheRankWhereAHostHasSeveral) {
  EXPECT_THAT(rank_labels({"a", "b", "b"}), ElementsAre("a", "b:1", "b:2"));
}

TEST(SlowLinks, AreFarBelowTheUpperQuartile) {
  const std::vector<PairResult> pairs{pair(0, 1, 10), pair(0, 2, 9),  pair(1, 2, 3),
                                      pair(0, 3, 10), pair(1, 3, 10), pair(2, 3, 1)};
  EXPECT_THAT(slow_links(pairs), ElementsAre(pair(2, 3, 1), pair(1, 2, 3)));
}

TEST(SlowLinks, FindOneBadNodeAmongThree) {
  const std::vector<PairResult> pairs{pair(0, 1, 10), pair(0, 2, 1), pair(1, 2, 2)};
  EXPECT_THAT(slow_links(pairs), ElementsAre(pair(0, 2, 1), pair(1, 2, 2)));
}

TEST(SlowLinks, AreUnknownWithFewerThanThreeLinks) {
  EXPECT_THAT(slow_links({pair(0, 1, 10), pair(0, 2, 1)}), IsEmpty());
  EXPECT_THAT(slow_links({}), IsEmpty());
}

TEST(PairText, IsAMatrixWithTheSlowLinks) {
  const std::string text =
      pair_text(header_of({"n1", "n2", "n3"}), {pair(0, 1, 10), pair(0, 2, 10), pair(1, 2, 1)});
  EXPECT_THAT(text, HasSubstr("n1           -   10.00   10.00\n"));
  EXPECT_THAT(text, HasSubstr("n3       10.00    1.00       -\n"));
  EXPECT_THAT(text, HasSubstr("# slow: n2 - n3, 1.00 GB/s, 0.10 of the upper quartile\n"));
}

TEST(PairText, NamesTheSlowestWhereNoneIsSlow) {
  const std::string text =
      pair_text(header_of({"n1", "n2", "n3"}), {pair(0, 1, 10), pair(0, 2, 10), pair(1, 2, 9)});
  EXPECT_THAT(text, HasSubstr("# slowest: n2 - n3, 9.00 GB/s\n"));
  EXPECT_THAT(text, Not(HasSubstr("slow:")));
}

TEST(PairText, HasNoMatrixForManyRanks) {
  std::vector<std::string> hosts;
  std::vector<PairResult> pairs;
  for (std::uint32_t i = 0; i < 40; ++i) {
    hosts.push_back("node" + std::to_string(i));
    if (i > 0) pairs.push_back(pair(0, i, i < 20 ? 1 : 10));
  }
  const std::string text = pair_text(header_of(hosts), pairs);
  EXPECT_THAT(text, Not(HasSubstr("\nnode")));
  EXPECT_THAT(text, HasSubstr("and 9 more"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 104U) << line;
}

TEST(PairJson, HasAllPairs) {
  const auto json = nlohmann::json::parse(pair_json(
      header_of({"n1", "n2", "n3"}), {pair(0, 1, 10), pair(0, 2, 10), pair(1, 2, 1)}, ""));
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["median"], 10);
  ASSERT_EQ(json["pairs"].size(), 3U);
  EXPECT_EQ(json["pairs"][2]["slow"], true);
  EXPECT_EQ(json["pairs"][1]["slow"], false);
  const auto nothing = nlohmann::json::parse(pair_json(header_of({"n1"}), {}, "exit code 70"));
  EXPECT_TRUE(nothing["pairs"].empty());
  EXPECT_EQ(nothing["error"], "exit code 70");
}

}  // namespace
}  // namespace dlaunch::measure
