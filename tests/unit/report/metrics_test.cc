#include "report/metrics.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "report/summary.h"
#include "report_builder.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

class ReadMetrics : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "metrics-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  std::string folder_;
  const std::map<std::string, std::string> patterns_ = {{"loss", "loss ([0-9.]+)"},
                                                        {"speed", "([0-9.]+) img/s"}};
};

TEST_F(ReadMetrics, OfEveryRank) {
  put("rank-0.out", "loss 4\nloss 2\n10 img/s\nloss 1\nloss 0.5");
  put("rank-1.err", "loss 3\r11 img/s\r");
  put("rank-2.out", "nothing\n");
  const auto metrics = read_metrics(folder_, 4, patterns_);
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0].name, "loss");
  EXPECT_THAT(metrics[0].ranks, ElementsAre(RankMetric{Rank(0), Stream::out, 4, 0.5, 0.75},
                                            RankMetric{Rank(1), Stream::err, 1, 3, 3}));
  EXPECT_THAT(metrics[1].ranks, ElementsAre(RankMetric{Rank(0), Stream::out, 1, 10, 10},
                                            RankMetric{Rank(1), Stream::err, 1, 11, 11}));
}

// stderr counts if stdout has no matches.
TEST_F(ReadMetrics, StdoutFirst) {
  put("rank-0.out", "loss 4\n");
  put("rank-0.err", "loss 5\n7 img/s\n");
  const auto metrics = read_metrics(folder_, 1, patterns_);
  EXPECT_THAT(metrics[0].ranks, ElementsAre(RankMetric{Rank(0), Stream::out, 1, 4, 4}));
  EXPECT_THAT(metrics[1].ranks, ElementsAre(RankMetric{Rank(0), Stream::err, 1, 7, 7}));
}

// Lines are found wherever the pieces of a file end.
TEST_F(ReadMetrics, LargeFiles) {
  std::string text;
  std::uint64_t count = 0;
  while (text.size() < 2'000'000) {
    text += std::string(count % 97, '-') + " loss " + std::to_string(count) + "\n";
    ++count;
  }
  text += std::string(500'000, 'x');  // a line that is too long to wait for
  text += "\nloss 7";
  put("rank-0.out", text);
  const auto metrics = read_metrics(folder_, 1, patterns_);
  ASSERT_EQ(metrics[0].ranks.size(), 1U);
  EXPECT_EQ(metrics[0].ranks[0].matches, count + 1);
  EXPECT_EQ(metrics[0].ranks[0].last, 7);
}

// In a file that is larger than the limit, the line that is cut does not count.
TEST_F(ReadMetrics, TheEndOfAHugeFile) {
  const int ranks = 100'000;  // a quarter of a MiB of each stream
  std::string text;
  while (text.size() < 300'000) text += "999 img/s\n";
  put("rank-0.out", "1" + text);
  const auto metrics = read_metrics(folder_, ranks, {{"speed", "([0-9]+) img/s"}});
  ASSERT_EQ(metrics[0].ranks.size(), 1U);
  EXPECT_EQ(metrics[0].ranks[0].matches, (256U * 1024U) / 10U);
  EXPECT_EQ(metrics[0].ranks[0].steady, 999);
}

TEST_F(ReadMetrics, NothingThere) {
  EXPECT_THAT(read_metrics(folder_, 3, {}), IsEmpty());
  EXPECT_THAT(read_metrics(folder_ + "/none", 3, patterns_),
              ElementsAre(Metric{"loss", {}, 0, ""}, Metric{"speed", {}, 0, ""}));
}

TEST(MetricLine, Wording) {
  Metric metric{"loss", {}, 0, ""};
  EXPECT_EQ(metric_line(metric), "loss: no line of the output matches its pattern");
  metric.not_numbers = 2;
  metric.not_number = "1,2\x1b[34";
  EXPECT_THAT(metric_line(metric), HasSubstr("loss: what its group matched is not a number"));
  EXPECT_THAT(metric_line(metric), Not(HasSubstr("\x1b")));
  metric.ranks = {{Rank(0), Stream::out, 5, 0.123456789, 0.2}};
  EXPECT_EQ(metric_line(metric), "loss 0.123457");
  metric.ranks[0].rank = Rank(3);
  EXPECT_EQ(metric_line(metric), "loss 0.123457 (rank 3)");
  metric.ranks = {{Rank(0), Stream::out, 5, 1520.3, 1},
                  {Rank(1), Stream::out, 5, 1544, 1},
                  {Rank(2), Stream::err, 5, 1498, 1}};
  EXPECT_EQ(metric_line(metric), "loss 1520.3 (rank 0; 1498 to 1544 on 3 ranks)");
}

TEST(MetricsInTheSummary, Success) {
  using namespace testing_support;
  const LaunchPlan plan = make_plan(1, 2);
  RunReport report;
  report.ranks.assign(2, make_end(RankEnd::How::exited, code(0), std::chrono::seconds(1)));
  SummaryInput input{&plan, report, "runs/x", {}};
  input.metrics = {{"loss", {{Rank(0), Stream::out, 5, 0.25, 0.5}}, 0, ""}};
  EXPECT_THAT(summary_text(input), HasSubstr("logs in runs/x\ndlaunch: loss 0.25\n"));
  EXPECT_THAT(summary_json(input),
              HasSubstr("\"metrics\": [\n    {\"name\": \"loss\", \"not_numbers\": 0, \"ranks\": "
                        "[\n      {\"rank\": 0, \"stream\": \"out\", \"matches\": 5, \"last\": "
                        "0.25, \"steady\": 0.5}\n    ]}\n  ],"));
  report.ranks.clear();
  EXPECT_THAT(summary_text(input), Not(HasSubstr("loss")));
}

TEST(NanNotes, AValueOfAWatchedQuantity) {
  EXPECT_THAT(printed_nan("step 1 loss 0.5\nstep 2 loss nan\n"), Optional(std::string("loss nan")));
  EXPECT_THAT(printed_nan("{'train_loss': nan, 'lr': 0.1}"),
              Optional(std::string("train_loss': nan")));
  EXPECT_THAT(printed_nan("grad_norm=NaN"), Optional(std::string("grad_norm=NaN")));
  EXPECT_THAT(printed_nan("Loss: tensor(nan, device='cuda:0')"),
              Optional(std::string("Loss: tensor(nan")));
  EXPECT_THAT(printed_nan("val/acc:\t-nan"), Optional(std::string("val/acc:    -nan")));
}

TEST(NanNotes, OtherMentionsDoNotCount) {
  for (const char* text :
       {"", "nan", "loss 0.5", "banana loss", "loss nanny", "mean    NaN   NaN", "no nan was found",
        "the loss is finite, not nan", "lossnan", "loss\nnan"}) {
    EXPECT_EQ(printed_nan(text), std::nullopt) << text;
  }
}

TEST(NanNotes, OfMetrics) {
  Metric loss{"loss", {{Rank(0), Stream::out, 5, 0.5, 0.5}}, 3, "nan"};
  const Metric rate{"rate", {}, 3, "1,234"};
  EXPECT_THAT(nan_metrics({loss, rate}),
              ElementsAre("3 values of the metric loss are not a number (\"nan\")"));
  EXPECT_THAT(nan_metrics({{"loss", {}, 3, "nan"}}), IsEmpty());
  loss.not_numbers = 0;
  EXPECT_THAT(nan_metrics({loss}), IsEmpty());
}

}  // namespace
}  // namespace dlaunch
