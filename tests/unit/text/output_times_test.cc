#include "text/output_times.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace dlaunch {
namespace {

std::vector<OutputMark> read_all(const std::string& bytes) {
  OutputTimesReader reader(bytes);
  std::vector<OutputMark> marks;
  while (const auto mark = reader.next()) marks.push_back(*mark);
  return marks;
}

TEST(OutputTimes, AreReadAsTheyWereWritten) {
  const std::vector<OutputMark> marks{{0, 10, 1795208502000},
                                      {3, 5, 1795208502001},
                                      {0, 1U << 20, 1795208502001},
                                      {0, (1U << 20) + 1, 1795208400000},
                                      {2'000'000, 7, 1795208502002}};
  OutputTimesWriter writer;
  std::string bytes;
  for (const OutputMark& mark : marks) {
    writer.add(mark);
    bytes += writer.take();
  }
  EXPECT_EQ(writer.take(), "");
  EXPECT_EQ(read_all(bytes), marks);
}

TEST(OutputTimes, MarksOfAMillisecondAreOne) {
  OutputTimesWriter writer;
  for (std::uint64_t end = 1; end <= 1000; ++end) writer.add({4, end, 1795208502000});
  writer.add({4, 1001, 1795208502001});
  const std::vector<OutputMark> expected{{4, 1000, 1795208502000}, {4, 1001, 1795208502001}};
  EXPECT_EQ(read_all(writer.take()), expected);
}

TEST(OutputTimes, ALineCostsAFewBytes) {
  OutputTimesWriter writer;
  for (std::int64_t i = 1; i <= 1000; ++i)
    writer.add({static_cast<std::uint64_t>(i % 16), static_cast<std::uint64_t>(i) * 40,
                1795208502000 + 3 * i});
  EXPECT_LT(writer.take().size(), 5000U);
}

TEST(OutputTimes, AnyBytesEnd) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string bytes = "dlaunch output times 1\n";
    for (int i = 0; i < 40; ++i) bytes += static_cast<char>(random());
    (void)read_all(bytes);
  }
  EXPECT_TRUE(read_all("").empty());
  EXPECT_TRUE(read_all("something else").empty());
}

}  // namespace
}  // namespace dlaunch
