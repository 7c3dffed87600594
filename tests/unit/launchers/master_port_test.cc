#include "jobfile/launchers/master_port.h"

#include <string>

#include <gtest/gtest.h>

namespace dlaunch::launchers {
namespace {

TEST(MasterPort, RangeIsReadAsTheKernelWritesIt) {
  EXPECT_EQ(read_port_range("32768\t60999\n"), (PortRange{32768, 60999}));
  EXPECT_EQ(read_port_range("1024 65535"), (PortRange{1024, 65535}));
  for (const char* text : {"", "5", "9 5", "x y", "0 5", "70000 80000"})
    EXPECT_EQ(read_port_range(text), PortRange()) << text;
}

TEST(MasterPort, IsTheSameForOneJobAndSeldomForTwo) {
  EXPECT_EQ(master_port("slurm-77.0", {}), master_port("slurm-77.0", {}));
  int same = 0;
  for (int i = 0; i < 100; ++i)
    same += master_port("slurm-" + std::to_string(i), {}) ==
                    master_port("slurm-" + std::to_string(i + 1), {})
                ? 1
                : 0;
  EXPECT_LE(same, 1);
}

TEST(MasterPort, LiesOutsideTheRangeWithRoomAboveIt) {
  const PortRange ranges[] = {
      {32768, 60999}, {20000, 65535}, {1024, 40000}, {25000, 30000}, {10000, 50000}};
  for (const PortRange& range : ranges) {
    for (int i = 0; i < 200; ++i) {
      const unsigned port = master_port("job-" + std::to_string(i), range);
      const unsigned last = port + kPortsOfJob - 1;
      EXPECT_GE(port, 1024U);
      EXPECT_LE(last, 65535U);
      EXPECT_TRUE(last < range.first || port > range.last)
          << port << " in " << range.first << "-" << range.last;
    }
  }
}

TEST(MasterPort, ThereIsOneEvenWhereTheRangeTakesAll) {
  EXPECT_GE(master_port("job", {1, 65535}), 20000);
  EXPECT_GE(master_port("job", {1030, 65535}), 1024);
}

}  // namespace
}  // namespace dlaunch::launchers
