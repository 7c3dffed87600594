#include "measure/scale/scaling.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Over = ScaleMeasure::Over;

ScaleRun run(std::uint32_t nodes, std::uint32_t ranks, double throughput) {
  return {"20261122-120000-abc", nodes, ranks, throughput, ""};
}

ScaleTable table(std::vector<ScaleRow> rows) {
  return {"cifar", true, {"throughput", Over::sum, false}, std::move(rows)};
}

RunFigures figures(std::uint32_t nodes, std::uint32_t ranks, double seconds) {
  RunFigures all;
  all.ending.run = "20261122-120000-abc";
  all.ending.ranks = ranks;
  all.path = "runs/20261122-120000-abc";
  all.nodes = nodes;
  all.ran_s = seconds;
  return all;
}

TEST(Scaling, SpeedUpIsRelativeToTheFirstRowThatWorks) {
  const auto all = scale_figures(table({{1, {{"", 0, 0, {}, "no"}}},
                                        {2, {run(2, 16, 200), run(2, 16, 220)}},
                                        {4, {run(4, 32, 378), {"", 0, 0, {}, "no"}}}}));
  EXPECT_FALSE(all[0]);
  ASSERT_TRUE(all[1] && all[2]);
  EXPECT_DOUBLE_EQ(all[1]->mean, 210);
  EXPECT_NEAR(all[1]->deviation.value(), 14.142, 0.001);
  EXPECT_DOUBLE_EQ(all[1]->speed_up.value(), 1);
  EXPECT_DOUBLE_EQ(all[2]->speed_up.value(), 1.8);
  EXPECT_DOUBLE_EQ(all[2]->efficiency.value(), 0.9);
  EXPECT_FALSE(all[2]->deviation);
}

TEST(Scaling, APlotHasTheSizesThatWorked) {
  const measure::Plot plot =
      plot_of(table({{1, {{"", 0, 0, {}, "no"}}}, {2, {run(2, 16, 200)}}, {4, {run(4, 32, 300)}}}));
  EXPECT_EQ(plot.title, "cifar");
  EXPECT_EQ(plot.x_title, "nodes");
  ASSERT_EQ(plot.panels.size(), 2U);
  ASSERT_EQ(plot.panels[0].lines.size(), 2U);
  using measure::Point;
  EXPECT_THAT(plot.panels[0].lines[0].points, ElementsAre(Point{2, 200}, Point{4, 300}));
  EXPECT_THAT(plot.panels[0].lines[1].points, ElementsAre(Point{2, 200}, Point{4, 400}));
  ASSERT_EQ(plot.panels[1].lines.size(), 1U);
  EXPECT_THAT(plot.panels[1].lines[0].points, ElementsAre(Point{2, 100}, Point{4, 75}));
}

// Nodes may have different numbers of ranks.
TEST(Scaling, EfficiencyIsByRanks) {
  const auto all = scale_figures(table({{1, {run(1, 8, 80)}}, {2, {run(2, 12, 120)}}}));
  EXPECT_DOUBLE_EQ(all[1]->efficiency.value(), 1);
}

TEST(Scaling, AThroughputOfZero) {
  const auto all = scale_figures(table({{1, {run(1, 1, 0)}}, {2, {run(2, 2, 5)}}}));
  ASSERT_TRUE(all[1]);
  EXPECT_FALSE(all[1]->speed_up);
  EXPECT_THAT(scale_text(table({{1, {run(1, 1, 0)}}})), HasSubstr("1      1           0"));
}

TEST(ScaleRunOf, Metrics) {
  RunFigures all = figures(2, 4, 10);
  all.metrics["throughput"] = {{0, 10}, {1, 12}, {3, 14}};
  const auto value = [&](Over over) {
    return scale_run(all, {"throughput", over, false}).throughput.value();
  };
  EXPECT_DOUBLE_EQ(value(Over::sum), 36);
  EXPECT_DOUBLE_EQ(value(Over::rank0), 10);
  EXPECT_DOUBLE_EQ(value(Over::each), 48);
  all.metrics["throughput"].clear();
  EXPECT_EQ(scale_run(all, {"throughput", Over::sum, false}).failure,
            "no line of the output matches metrics.throughput, logs in runs/20261122-120000-abc");
  EXPECT_FALSE(scale_run(all, {"other", Over::sum, false}).throughput);
}

TEST(ScaleRunOf, Times) {
  EXPECT_DOUBLE_EQ(scale_run(figures(2, 4, 8), {}).throughput.value(), 0.5);
  EXPECT_DOUBLE_EQ(scale_run(figures(2, 4, 8), {"", Over::sum, true}).throughput.value(), 0.125);
  RunFigures unknown = figures(2, 4, 8);
  unknown.ran_s.reset();
  EXPECT_EQ(scale_run(unknown, {}).failure, "the running time of its ranks is not known");
}

TEST(ScaleRunOf, AFailureHasNoThroughput) {
  RunFigures all = figures(2, 4, 10);
  all.metrics["throughput"] = {{0, 10}};
  all.ending.exit_code = 7;
  all.ending.cause = "exit-code";
  all.ending.first = 3;
  all.ending.first_status = ExitStatus{false, 7, false};
  const ScaleRun failed = scale_run(all, {"throughput", Over::sum, false});
  EXPECT_FALSE(failed.throughput);
  EXPECT_THAT(failed.failure, HasSubstr("rank 3 exited with code 7"));
  EXPECT_THAT(failed.failure, HasSubstr("logs in runs/"));
}

TEST(ScaleText, ATable) {
  const std::string text = scale_text(table({{1, {run(1, 8, 1203.25), run(1, 8, 1201)}},
                                             {2, {run(2, 16, 23100), run(2, 16, 23100)}},
                                             {4, {{"", 0, 0, {}, "rank 3 exited with code 7"}}}}));
  EXPECT_THAT(text, testing::StartsWith("nodes  ranks  throughput     +-  speed-up  efficiency\n"
                                        "    1      8        1202  1.591      1.00       100 %\n"
                                        "    2     16       23100      0     19.22       961 %\n"
                                        "    4      -      failed      -         -           -\n"));
  EXPECT_THAT(text, HasSubstr("summed over the ranks"));
  EXPECT_THAT(text, HasSubstr("grows faster than the number of ranks"));
  EXPECT_THAT(text, HasSubstr("4 nodes: rank 3 exited with code 7\n"));
  EXPECT_THAT(scale_text(table({{1, {run(1, 8, 100)}}, {2, {run(2, 16, 190)}}})),
              Not(HasSubstr("note")));
}

TEST(ScaleJson, Members) {
  const auto json = nlohmann::json::parse(
      scale_json(table({{1, {run(1, 8, 100)}}, {2, {{"", 0, 0, {}, "why \"not\""}}}})));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["rows"][0]["throughput"], 100);
  EXPECT_EQ(json["rows"][0]["efficiency"], 1);
  EXPECT_TRUE(json["rows"][0]["deviation"].is_null());
  EXPECT_TRUE(json["rows"][1]["throughput"].is_null());
  EXPECT_EQ(json["rows"][1]["runs"][0]["failure"], "why \"not\"");
}

TEST(ScaleCounts, Doubling) {
  EXPECT_THAT(doubling_counts(0), ElementsAre(1));
  EXPECT_THAT(doubling_counts(1), ElementsAre(1));
  EXPECT_THAT(doubling_counts(4), ElementsAre(1, 2, 4));
  EXPECT_THAT(doubling_counts(6), ElementsAre(1, 2, 4, 6));
}

TEST(ScaleCounts, Given) {
  EXPECT_THAT(parse_counts("4,1,2,4").value(), ElementsAre(1, 2, 4));
  for (const char* text : {"", ",", "1,", "0", "-1", "1;2", " 1", "1e3", "100001", "99999999999"})
    EXPECT_FALSE(parse_counts(text)) << text;
}

TEST(RunFiguresOf, ASummary) {
  const auto all = parse_run_figures(R"({"version": 1, "run": "r", "path": "runs/r", "exit_code": 0,
    "cause": "success", "elapsed_s": 3, "metrics": [{"name": "a", "ranks": [
      {"rank": 0, "last": 1, "steady": 2.5}, {"rank": 2, "steady": 3}, {"rank": -1, "steady": 1},
      {"rank": 4, "steady": null}, 7]}, {"name": "b"}, 3],
    "ranks": [{"rank": 0, "node": "n0", "started": "2026-11-22T10:00:00.5Z", "ended": "2026-11-22T10:00:02Z"},
              {"rank": 1, "node": "n1", "started": "2026-11-22T10:00:01Z", "ended": "2026-11-22T10:00:03Z"}]})");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->nodes, 2U);
  EXPECT_EQ(all->ending.ranks, 2U);
  EXPECT_DOUBLE_EQ(all->ran_s.value(), 2.5);
  EXPECT_THAT(all->metrics.at("a"),
              ElementsAre(RunFigures::OfRank{0, 2.5}, RunFigures::OfRank{2, 3}));
  EXPECT_TRUE(all->metrics.at("b").empty());
  const auto unfinished = parse_run_figures(
      R"({"exit_code": 1, "ranks": [{"started": "2026-11-22T10:00:00Z", "ended": null}]})");
  EXPECT_FALSE(unfinished->ran_s);
  EXPECT_FALSE(parse_run_figures(""));
  EXPECT_FALSE(parse_run_figures("[]"));
}

}  // namespace
}  // namespace dlaunch
