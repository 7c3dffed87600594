#include "runs/run_record.h"

#include <gtest/gtest.h>

#include "model/time.h"

namespace dlaunch {
namespace {

RunRecord sample() {
  RunRecord record;
  record.run = "20261120-210142-k3f";
  record.name = "cifar \"ddp\"";
  record.job_file = "jobs/job.yaml";
  record.folder = "/home/me";
  record.host = "gpu01";
  record.boot_id = "cd82c389-943d-4676-b4c3-64c9742cc1c8";
  record.engine = {4711, 204128};
  record.front = {4710, 204127};
  record.user = 1000;
  record.started = WallTime(std::chrono::seconds(1795208502) + std::chrono::microseconds(123456));
  record.stop_grace = std::chrono::seconds(30);
  record.detached = true;
  record.locked = true;
  return record;
}

TEST(RunRecord, ComesBackAsItWasWritten) {
  const auto back = parse_run_record(run_record_json(sample()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
  RunRecord in_slurm = sample();
  in_slurm.slurm_job = "17";
  EXPECT_EQ(*parse_run_record(run_record_json(in_slurm)), in_slurm);
}

TEST(RunRecord, UnknownMembersAreIgnored) {
  std::string json = run_record_json(sample());
  json.insert(json.rfind('}'), R"(, "later": [1, {"a": null}])");
  const auto back = parse_run_record(json);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, sample());
}

TEST(RunRecord, DamagedTextIsAnErrorAndNeverACrash) {
  const std::string json = run_record_json(sample());
  for (std::size_t size = 0; size + 2 < json.size(); ++size)
    EXPECT_FALSE(parse_run_record(json.substr(0, size))) << size;
  for (std::size_t at = 0; at < json.size(); ++at) {
    std::string broken = json;
    broken[at] = '[';
    (void)parse_run_record(broken);
  }
  for (const char* text :
       {"", "null", "[]", "7", R"({"version": 1})", R"({"version": "1", "run": "x"})"})
    EXPECT_FALSE(parse_run_record(text)) << text;
}

TEST(RunRecord, AVersionThatIsNotKnownIsNamed) {
  const auto back = parse_run_record(R"({"version": 9, "run": "x"})");
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().message.find("version 9"), std::string::npos);
}

TEST(ParseTime, ReadsWhatTimeTextWrites) {
  const WallTime time = sample().started;
  EXPECT_EQ(parse_time(time_text(time)).value_or(WallTime{}), time);
  EXPECT_EQ(parse_time("2026-11-20T21:01:42Z").value_or(WallTime{}),
            WallTime(std::chrono::seconds(1795208502)));
  for (const char* text : {"", "yesterday", "2026-11-20", "2026-13-20T21:01:42Z",
                           "2026-11-20T21:01:42+01:00", "2026-11-20T21:01:42"})
    EXPECT_FALSE(parse_time(text)) << text;
}

}  // namespace
}  // namespace dlaunch
