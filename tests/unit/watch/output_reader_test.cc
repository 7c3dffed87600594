#include "node/watch/output_reader.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

class OutputReaderTest : public testing::Test {
 protected:
  static OutputReader reader(const std::vector<std::string>& patterns = {"loss ([0-9.]+)"}) {
    return OutputReader(std::make_shared<MetricPatterns>(patterns));
  }
  /// The rank prints; the reader looks as RankWatch does.
  void print(OutputReader& reader, const std::string& bytes, Stream stream = Stream::out) {
    std::string& all = printed_[stream == Stream::out ? 0 : 1];
    all += bytes;
    const std::uint64_t begin = reader.begin_of_look(stream, all.size());
    reader.look(stream, std::string_view(all).substr(begin), begin);
  }

  std::string printed_[2];
};

TEST_F(OutputReaderTest, TheLastLineIsPlainAndNotBlank) {
  OutputReader one = reader();
  EXPECT_EQ(one.last_line(), "");
  print(one, "first\n\x1b[31msecond\x1b[0m\ttext\n\n  \n");
  EXPECT_EQ(one.last_line(), "second    text");
  print(one, "unfinished");
  EXPECT_EQ(one.last_line(), "unfinished");
  print(one, " line\n");
  EXPECT_EQ(one.last_line(), "unfinished line");
  print(one, " 10%\r 20%\r 30%", Stream::err);
  EXPECT_EQ(one.last_line(), "30%");
}

TEST_F(OutputReaderTest, ALongLineIsCut) {
  OutputReader one = reader();
  print(one, std::string(1000, 'x') + "\n");
  EXPECT_EQ(one.last_line().size(), 160U);
}

TEST_F(OutputReaderTest, TheLatestNumberOfEachMetric) {
  OutputReader one = reader({"loss ([0-9.]+)", "step ([0-9]+)", "never ([0-9]+)"});
  print(one, "step 1 loss 2.50\nstep 2 loss 2.25\nepoch done\n");
  EXPECT_EQ(one.metrics(), (std::vector<MetricPulse>{{0, "2.25"}, {1, "2"}}));
}

TEST_F(OutputReaderTest, ANumberWhoseLineHasNoEndYetWaits) {
  OutputReader one = reader({"step ([0-9]+)"});
  print(one, "step 1");
  EXPECT_TRUE(one.metrics().empty());
  print(one, "23\n");
  EXPECT_EQ(one.metrics(), (std::vector<MetricPulse>{{0, "123"}}));
  print(one, "\rstep 124\rstep 12", Stream::err);
  EXPECT_EQ(one.metrics(), (std::vector<MetricPulse>{{0, "123"}})) << "stdout has it";
}

TEST_F(OutputReaderTest, StderrCountsForWhatStdoutLacks) {
  OutputReader one = reader({"step ([0-9]+)"});
  print(one, "step 5\r", Stream::err);
  EXPECT_EQ(one.metrics(), (std::vector<MetricPulse>{{0, "5"}}));
  print(one, "step 7\n");
  print(one, "step 6\r", Stream::err);
  EXPECT_EQ(one.metrics(), (std::vector<MetricPulse>{{0, "7"}}));
}

TEST_F(OutputReaderTest, OfMuchOutputOnlyTheEndIsLookedAt) {
  OutputReader one = reader({"step ([0-9]+)"});
  std::string much = "step 1\n";
  while (much.size() < 3 * OutputReader::kMostLooked) much += "step 23456789\n";
  EXPECT_EQ(one.begin_of_look(Stream::out, much.size()), much.size() - OutputReader::kMostLooked);
  print(one, much);
  EXPECT_EQ(one.metrics(), (std::vector<MetricPulse>{{0, "2.34568e+07"}}));
  EXPECT_EQ(one.begin_of_look(Stream::out, much.size() + 5), much.size());
}

TEST_F(OutputReaderTest, APatternThatIsNoneNeverMatches) {
  OutputReader one = reader({"(", "step ([0-9]+)"});
  print(one, "step 3\n");
  EXPECT_EQ(one.metrics(), (std::vector<MetricPulse>{{1, "3"}}));
}

}  // namespace
}  // namespace dlaunch
