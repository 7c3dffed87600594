#include "node/watch/proc_text.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

// Linux 6.1: a Python program with two data loaders that it has waited for.
constexpr const char* kStat =
    "4711 (python3 (1) x) S 4700 4711 4700 0 -1 4194304 90210 812345 3 0 1234 567 8900 432 20 0 19 "
    "0 98765 2147483648 51200 18446744073709551615 1 1 0 0 0 0 0 16781312 134234626 0 0 0 17 3 0 0 "
    "0 0 0 0 0 0 0 0 0 0 0\n";

TEST(ProcText, AProcessWithItsChildren) {
  const auto stat = parse_process_stat(kStat);
  ASSERT_TRUE(stat);
  EXPECT_EQ(*stat, (ProcessStat{'S', 98765, 1234 + 567 + 8900 + 432, 51200}));
}

TEST(ProcText, WhatIsNoStatFileIsNone) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("4711 (python3) S 4700"));
  EXPECT_FALSE(parse_process_stat(std::string_view(kStat).substr(0, 60)));
}

TEST(ProcText, InputAndOutput) {
  EXPECT_EQ(parse_io("rchar: 1000\nwchar: 234\nsyscr: 9\nsyscw: 9\nread_bytes: 7\nwrite_bytes: 7\n"
                     "cancelled_write_bytes: 0\n"),
            1234U);
  EXPECT_EQ(parse_io(""), 0U);  // of another user's process
}

TEST(ProcText, ContextSwitches) {
  EXPECT_EQ(parse_switches("Name:\tvoluntary_ctxt_switches:\t9\nThreads:\t19\n"
                           "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n"),
            157U);
}

TEST(ProcText, ProcessorsInUse) {
  const CpuTime time = parse_cpu_time(
      "cpu  100 20 30 4000 500 6 7 8 9 10\ncpu0 50 10 15 2000 250 3 3 4 5 5\n"
      "cpu1 50 10 15 2000 250 3 4 4 4 5\nintr 1 2 3\n");
  EXPECT_EQ(time, (CpuTime{100 + 20 + 30 + 6 + 7 + 8, 2}));
  EXPECT_EQ(parse_cpu_time("intr 1"), CpuTime{});
}

TEST(ProcText, TimeWithoutACpu) {
  EXPECT_EQ(parse_waited("238173570 2117086145 139\n"), 2117086145U);
  EXPECT_EQ(parse_waited(""), 0U);
  EXPECT_EQ(parse_waited("x y z"), 0U);
}

TEST(ProcText, NetworkIsWhatCardsCount) {
  EXPECT_EQ(
      parse_network_bytes("Inter-|   Receive                            |  Transmit\n"
                    " face |bytes packets errs drop fifo frame compressed multicast|bytes ...\n"
                    "    lo: 7000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n"
                    "  eth0: 100 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
                    "eth0.5: 90 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
                    " bond0: 100 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
                    "   ib0:3 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n"
                    "broken: 1 2\n"),
      127U);
  EXPECT_EQ(parse_network_bytes(""), 0U);
}

TEST(ProcText, Memory) {
  EXPECT_EQ(parse_available_memory("MemTotal:  8000 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n"),
            2048U * 1024U);
  EXPECT_EQ(parse_stall_permille("some avg10=12.34 avg60=1.00 avg300=0.10 total=99\n"
                                 "full avg10=9.00 avg60=0.00 avg300=0.00 total=9\n"),
            123U);
  EXPECT_EQ(parse_stall_permille("some avg10=100.00 avg60=1.00"), 1000U);
  EXPECT_EQ(parse_stall_permille(""), 0U);  // a kernel without CONFIG_PSI
}

TEST(ProcText, ATotalNeverFalls) {
  RisingTotal total;
  EXPECT_EQ(total.add(100), 100U);
  EXPECT_EQ(total.add(60), 100U);  // a process has ended, and its parent has not waited for it
  EXPECT_EQ(total.add(75), 115U);
  EXPECT_EQ(total.add(75), 115U);
}

}  // namespace
}  // namespace dlaunch
