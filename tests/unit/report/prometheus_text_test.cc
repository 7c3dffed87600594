#include "report/prometheus_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace dlaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

PrometheusInput running() {
  PrometheusInput in;
  in.status.run = "20261120-210142-k3f";
  in.status.name = "say \"a\\b\"\n";
  in.status.state = "running";
  in.status.attempt = 2;
  in.status.run_ms = 61500;
  in.status.metrics = {"loss", "speed"};
  in.status.nodes = {{.host = "gpu01"}, {.host = "gpu02"}};
  in.launcher = "login";
  in.roles = {"chief", "worker", "worker"};
  in.status.ranks.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    in.status.ranks[i].node = i == 2 ? 1 : 0;
    in.status.ranks[i].started = i != 1;
  }
  in.status.ranks[0].pulse.processes = 2;
  in.status.ranks[0].pulse.quiet_ms = 250;
  in.status.ranks[0].pulse.gpu_percent = 93;
  in.status.ranks[0].pulse.metrics = {{0, "0.25"}, {1, "nan"}};
  in.status.ranks[2].end = "exited with code 1";
  return in;
}

TEST(PrometheusText, HasTheRunAndItsRanks) {
  const std::string text = prometheus_text(running());
  for (const char* line : {
           "dlaunch_run_info{run=\"20261120-210142-k3f\",job=\"say \\\"a\\\\b\\\"?\","
           "launcher=\"login\"} 1",
           "dlaunch_run_state{run=\"20261120-210142-k3f\",state=\"running\"} 1",
           "dlaunch_run_state{run=\"20261120-210142-k3f\",state=\"failed\"} 0",
           "dlaunch_run_seconds{run=\"20261120-210142-k3f\"} 61.500",
           "dlaunch_restarts_total{run=\"20261120-210142-k3f\"} 2",
           "dlaunch_ranks{run=\"20261120-210142-k3f\",state=\"not started\"} 1",
           "dlaunch_ranks{run=\"20261120-210142-k3f\",state=\"running\"} 1",
           "dlaunch_ranks{run=\"20261120-210142-k3f\",state=\"ended\"} 1",
           "dlaunch_rank_up{run=\"20261120-210142-k3f\",rank=\"0\",role=\"chief\",host=\"gpu01\"} "
           "1",
           "dlaunch_rank_up{run=\"20261120-210142-k3f\",rank=\"2\",role=\"worker\",host=\"gpu02\"} "
           "0",
           "dlaunch_rank_quiet_seconds{run=\"20261120-210142-k3f\",rank=\"0\",role=\"chief\","
           "host=\"gpu01\"} 0.250",
           "dlaunch_rank_gpu_ratio{run=\"20261120-210142-k3f\",rank=\"0\",role=\"chief\","
           "host=\"gpu01\"} 0.93",
           "dlaunch_metric{run=\"20261120-210142-k3f\",rank=\"0\",role=\"chief\",host=\"gpu01\","
           "metric=\"loss\"} 0.25",
       })
    EXPECT_THAT(text, HasSubstr(std::string(line) + '\n'));
  EXPECT_THAT(text, Not(HasSubstr("exit_code")));
}

/// What node_exporter refuses: a family in two places, and the same sample twice.
TEST(PrometheusText, EachFamilyStandsTogetherAndEachSampleOnce) {
  std::istringstream lines(prometheus_text(running()));
  std::set<std::string> families;
  std::set<std::string> samples;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << line;
    } else if (!line.starts_with('#')) {
      EXPECT_TRUE(line.starts_with(family + '{')) << line;
      EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_GT(families.size(), 10U);
}

TEST(PrometheusText, AfterTheEndTheRanksAreGone) {
  PrometheusInput in = running();
  in.end = "failed";
  in.exit_code = 7;
  const std::string text = prometheus_text(in);
  EXPECT_THAT(text, HasSubstr("dlaunch_exit_code{run=\"20261120-210142-k3f\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("state=\"failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("state=\"running\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("rank_up")));
  EXPECT_THAT(text, HasSubstr("metric=\"loss\"} 0.25\n"));
}

TEST(PrometheusText, UnwatchedRanksHaveNoFigures) {
  PrometheusInput in = running();
  in.status.is_watched = false;
  EXPECT_THAT(prometheus_text(in), HasSubstr("rank_up"));
  EXPECT_THAT(prometheus_text(in), Not(HasSubstr("rank_memory")));
}

}  // namespace
}  // namespace dlaunch
