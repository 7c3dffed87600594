#include <gtest/gtest.h>

#include "fabric/node_facts.h"

namespace dlaunch::fabric {
namespace {

using Cpus = std::vector<int>;

// cpuset(7), "List format".
TEST(CpuList, ReadsTheKernelsFormat) {
  EXPECT_EQ(parse_cpu_list("0-4,9\n"), (Cpus{0, 1, 2, 3, 4, 9}));
  EXPECT_EQ(parse_cpu_list("0-2,7,12-14"), (Cpus{0, 1, 2, 7, 12, 13, 14}));
  EXPECT_EQ(parse_cpu_list("5"), Cpus{5});
  EXPECT_EQ(parse_cpu_list("8,0-1,1"), (Cpus{0, 1, 8}));
  EXPECT_EQ(parse_cpu_list("3-3"), Cpus{3});
  EXPECT_EQ(parse_cpu_list(""), Cpus{});
  EXPECT_EQ(parse_cpu_list("\n"), Cpus{});  // a NUMA node with memory only
}

TEST(CpuList, AnythingElseIsEmpty) {
  for (const char* bad : {"a", "1-", "-1", "3-1", "1,", ",1", "1,,2", "1 2", "0x3", "0-99999999999",
                          "65536", "1-2-3", "0-65535,0-65535"}) {
    EXPECT_EQ(parse_cpu_list(bad), Cpus{}) << bad;
  }
}

}  // namespace
}  // namespace dlaunch::fabric
