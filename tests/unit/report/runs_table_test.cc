#include "report/runs_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "text/utf8.h"

namespace dlaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

const WallTime kNow{std::chrono::seconds(1795208502)};  // 2026-11-20 21:01:42 UTC

RunView run_of(const std::string& name, WallTime started) {
  RunView run;
  run.id = "20261120-210142-k3f";
  run.path = "runs/" + run.id;
  run.name = name;
  run.state = RunState::running;
  run.ranks = 8;
  run.duration = 192s;
  run.witness.record = RunRecord{};
  run.witness.record->started = started;
  run.witness.record->host = "gpu01";
  return run;
}

TEST(RunsTable, LinesUpAndFitsAnyName) {
  std::vector<RunView> runs{run_of("cifar-ddp", kNow - 192s), run_of("", kNow - 50h),
                            run_of(std::string(100, 'n'), kNow - 9000h),
                            run_of("gr\xC3\xBC\xC3\x9F"
                                   "e \x1b[31m",
                                   kNow)};
  runs[1].state = RunState::unknown;
  runs[1].witness.record->host = std::string(60, 'h');
  runs[2].ranks.reset();
  runs[2].duration.reset();
  runs[3].state = RunState::failed;
  runs[3].witness.ending = RunEnding{};
  runs[3].witness.ending->exit_code = 137;
  runs[3].witness.ending->first = 1023;
  const std::string table = runs_table(runs, kNow, date_parts);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(utf8_length(line), 80U) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
  EXPECT_THAT(table, HasSubstr("20:58"));
  EXPECT_THAT(table, HasSubstr("Nov 18"));
  EXPECT_THAT(table, HasSubstr("2025-"));
  EXPECT_THAT(table, HasSubstr("3m12s"));
  EXPECT_THAT(table, HasSubstr("137"));
}

TEST(RunsTable, SlurmHasAColumnWhereARunIsInIt) {
  std::vector<RunView> runs{run_of("a", kNow - 192s), run_of("b", kNow - 192s)};
  EXPECT_THAT(runs_table(runs, kNow, date_parts), Not(HasSubstr("slurm")));
  runs[0].witness.record->slurm_job = "17";
  EXPECT_THAT(runs_table(runs, kNow, date_parts), HasSubstr("  slurm  exit\n"));
  EXPECT_THAT(runs_table(runs, kNow, date_parts), HasSubstr("  17     -\n"));
  runs[0].slurm_state = "RUNNING";
  EXPECT_THAT(runs_table(runs, kNow, date_parts), HasSubstr("  17 running  -\n"));
  const auto json = nlohmann::json::parse(runs_json(runs));
  EXPECT_EQ(json[0].at("slurm_job"), "17");
  EXPECT_EQ(json[0].at("slurm_state"), "RUNNING");
  EXPECT_FALSE(json[1].contains("slurm_job"));
}

TEST(RunsTable, JsonHasEveryMember) {
  EXPECT_EQ(nlohmann::json::parse(runs_json({})), nlohmann::json::array());
  const auto json = nlohmann::json::parse(runs_json({run_of("a", kNow)}));
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0].at("run"), "20261120-210142-k3f");
  EXPECT_EQ(json[0].at("state"), "running");
  EXPECT_EQ(json[0].at("ranks"), 8);
  EXPECT_EQ(json[0].at("duration_s"), 192);
  EXPECT_EQ(json[0].at("exit_code"), nullptr);
  EXPECT_EQ(json[0].at("started"), "2026-11-20T21:01:42.000000Z");
}

TEST(ShortDuration, TakesSixColumns) {
  EXPECT_EQ(short_duration(0ms), "0.0s");
  EXPECT_EQ(short_duration(12'440ms), "12.4s");
  EXPECT_EQ(short_duration(59'960ms), "1m00s");
  EXPECT_EQ(short_duration(3599s), "59m59s");
  EXPECT_EQ(short_duration(3600s), "1h00m");
  EXPECT_EQ(short_duration(76h), "3d04h");
}

}  // namespace
}  // namespace dlaunch
