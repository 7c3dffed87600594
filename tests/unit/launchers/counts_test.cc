#include "jobfile/hostlist.h"
#include "jobfile/slurm_allocation.h"

#include <gtest/gtest.h>

#include "jobfile/launchers/node_list.h"

namespace dlaunch::launchers {
namespace {

auto expand(std::string_view text) {
  return jobfile::read_repeated_counts(text, jobfile::kMostHosts);
}

TEST(Counts, AreExpandedAsSlurmWritesThem) {
  using Numbers = std::vector<int>;
  EXPECT_EQ(expand("4"), Numbers({4}));
  EXPECT_EQ(expand("2(x3),1"), Numbers({2, 2, 2, 1}));
  EXPECT_EQ(expand("1,72(x2)"), Numbers({1, 72, 72}));
}

TEST(Counts, AnythingElseIsRefused) {
  for (const char* text : {"", "x", "2(", "2(x)", "2(x3", "2(x0)", "1,", ",1", "1 2", "-1",
                           "1(x65537)", "99999999999"})
    EXPECT_FALSE(expand(text)) << text;
}

TEST(HostMatch, NamesWithAndWithoutDomainAndAddresses) {
  EXPECT_TRUE(is_own_host("gpu01", "gpu01", {}));
  EXPECT_TRUE(is_own_host("gpu01.cluster", "gpu01", {}));
  EXPECT_TRUE(is_own_host("gpu01", "gpu01.cluster", {}));
  EXPECT_FALSE(is_own_host("gpu01.a", "gpu01.b", {}));
  EXPECT_FALSE(is_own_host("gpu1", "gpu01", {}));
  EXPECT_TRUE(is_own_host("10.0.0.5", "gpu01", {"127.0.0.1", "10.0.0.5"}));
  EXPECT_TRUE(is_own_host("fd00:0::1", "gpu01", {"fd00::1"}));
  EXPECT_FALSE(is_own_host("10.0.0.6", "10", {"10.0.0.5"}));
}

}  // namespace
}  // namespace dlaunch::launchers
