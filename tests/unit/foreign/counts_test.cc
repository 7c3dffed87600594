#include "foreign/counts.h"

#include <gtest/gtest.h>

#include "foreign/host_match.h"

namespace dlaunch::foreign {
namespace {

TEST(Counts, AreExpandedAsSlurmWritesThem) {
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(expand_counts("4"), Numbers({4}));
  EXPECT_EQ(expand_counts("2(x3),1"), Numbers({2, 2, 2, 1}));
  EXPECT_EQ(expand_counts("1,72(x2)"), Numbers({1, 72, 72}));
}

TEST(Counts, AnythingElseIsRefused) {
  for (const char* text : {"", "x", "2(", "2(x)", "2(x3", "2(x0)", "0", "1,", ",1", "1 2", "-1",
                           "1(x65537)", "99999999999"})
    EXPECT_FALSE(expand_counts(text)) << text;
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
}  // namespace dlaunch::foreign
