#include "text/metric_pattern.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MetricMatches found(const std::string& pattern, std::string text) {
  EXPECT_EQ(metric_problem(pattern), "");
  MetricMatches matches;
  MetricPattern(pattern).find(text, matches);
  return matches;
}

// Lines printed by common programs.
TEST(MetricPattern, LinesOfRealPrograms) {
  EXPECT_THAT(found("Total img/sec on [0-9]+ GPU\\(s\\): ([0-9.]+)",
                    "Running benchmark...\nIter #0: 301.2 img/sec per GPU\n"
                    "Img/sec per GPU: 300.8 +-1.4\nTotal img/sec on 4 GPU(s): 1203.2 +-5.6\n")
                  .values,
              ElementsAre(1203.2));  // Horovod, pytorch_synthetic_benchmark.py
  EXPECT_THAT(found("CurrSamplesPerSec=([0-9.]+)",
                    "[2026-01-01 10:00:00,123] [INFO] [timer.py:199:stop] epoch=0/micro_step=10/"
                    "global_step=10, RunningAvgSamplesPerSec=51.7, CurrSamplesPerSec=52.25, "
                    "MemAllocated=1.2GB, MaxMemAllocated=3.4GB\n")
                  .values,
              ElementsAre(52.25));  // DeepSpeed, ThroughputTimer
  EXPECT_THAT(found("([0-9.]+)it/s",
                    "\r 10%|#   | 1/10 [00:01<00:09, 1.50it/s]\r 20%|##  | 2/10 "
                    "[00:01<00:08, 1.75it/s]\n")
                  .values,
              ElementsAre(1.5, 1.75));  // tqdm; Lightning's progress bar
}

TEST(MetricPattern, AMatchStaysOnItsLine) {
  EXPECT_THAT(found("loss[^x]*?([0-9]+)", "loss\n1\nloss 2\n").values, ElementsAre(2));
  EXPECT_THAT(found("loss\\s+([0-9]+)", "loss\n1\nloss 2\n").values, ElementsAre(2));
  EXPECT_THAT(found("^([0-9]+)$", "1\n 2\n3\r4\n5 \n6").values, ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(found("x ([0-9])", "").values, IsEmpty());
  EXPECT_THAT(found("a|^b ([0-9])", "a\nb 1\n b 2\nb 3").values, ElementsAre(1, 3));
}

TEST(MetricPattern, Numbers) {
  const MetricMatches all =
      found("v=(\\S*)", "v=1 v=-2.5\nv=1e3\nv=+4\nv=1,234\nv=nan\nv=inf\nv=\nv=0x1\n");
  EXPECT_THAT(all.values, ElementsAre(1, -2.5, 1000, 4));
  EXPECT_EQ(all.matches, 4U);
  EXPECT_EQ(all.not_numbers, 5U);
  EXPECT_EQ(all.not_number, "1,234");
  // A group that took no part in the match is not a number and not a mistake.
  const MetricMatches part = found("a(?: ([0-9]))?", "a\na 1\n");
  EXPECT_THAT(part.values, ElementsAre(1));
  EXPECT_EQ(part.not_numbers, 0U);
}

TEST(MetricPattern, BytesThatAreNoText) {
  EXPECT_THAT(found("x.([0-9])", std::string("x\xff") + "7\nx\x00" + "8\n").values, ElementsAre(7));
}

TEST(MetricPattern, OnesThatAreNone) {
  EXPECT_EQ(metric_problem("loss"), "has no group: put the number into ( )");
  EXPECT_EQ(metric_problem("(?:a)"), "has no group: put the number into ( )");
  EXPECT_EQ(metric_problem("(a)(b)"), "has 2 groups; write (?: ) for all but the number");
  EXPECT_THAT(metric_problem("(a"), testing::StartsWith("is not an RE2 pattern: missing )"));
  EXPECT_THAT(metric_problem("(a)(?=b)"), testing::StartsWith("is not an RE2 pattern: "));
  EXPECT_EQ(metric_problem("(" + std::string(1000, 'a') + ")"), "is longer than 1000 characters");
}

// Neither an empty match nor any bytes make it loop forever, or read beyond the text.
TEST(MetricPattern, AnyTextEnds) {
  for (const char* pattern : {"()", "(x*)", "^()", "()$", "(\\d*)"}) {
    const MetricPattern metric(pattern);
    EXPECT_TRUE(rc::check("any bytes", [&](std::string bytes) {
      MetricMatches matches;
      const std::size_t size = bytes.size();
      metric.find(bytes, matches);
      RC_ASSERT(matches.matches + matches.not_numbers <= size + 1);
    }));
  }
}

TEST(MetricPattern, KeepsTheLastValues) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "v " + std::to_string(i) + "\n";
  const MetricMatches all = found("v ([0-9]+)", text);
  EXPECT_EQ(all.matches, 200'000U);
  EXPECT_GE(all.values.size(), 65536U);
  EXPECT_LE(all.values.size(), 131072U);
  EXPECT_EQ(all.values.back(), 199'999);
}

TEST(SteadyValue, MedianOfTheLastHalf) {
  EXPECT_EQ(steady_value({}), 0);
  EXPECT_EQ(steady_value({5}), 5);
  EXPECT_EQ(steady_value({1, 5}), 5);
  EXPECT_EQ(steady_value({1, 5, 7}), 6);
  EXPECT_EQ(steady_value({1, 2, 100, 10, 11, 12}), 11);
  EXPECT_EQ(steady_value({0, 0, 0, 0, 9, 1, 3, 5}), 4);
}

}  // namespace
}  // namespace dlaunch
