#include "launch/engine/run_store.h"

#include <gmock/gmock.h>

#include "side_fixture.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

using RunStoreTest = SideTest;

TEST_F(RunStoreTest, AnOpenRunIsAnnouncedAndHasTheFolderOfItsFirstAttempt) {
  EXPECT_THAT(file("run.json"), HasSubstr(store_.folder().id()));
  EXPECT_EQ(store_.attempt_folder(), store_.folder().path() + "/attempt-0");
  EXPECT_TRUE(std::filesystem::is_directory(store_.attempt_folder()));
  EXPECT_EQ(store_.shown_path(), "runs/" + store_.folder().id());
  EXPECT_TRUE(said_.empty());
}

TEST_F(RunStoreTest, EventsAndNotesAreLinesInTheirOrder) {
  store_.record(Event(event::NodeReady{node(2), Attempt(0)}));
  store_.note("notice", "the log disk is full");
  EXPECT_EQ(file("events.jsonl"), "") << "lines are collected";
  ASSERT_TRUE(store_.write_due()) << "and say when they are to be written";
  EXPECT_TRUE(store_.flush());
  const std::string lines = file("events.jsonl");
  EXPECT_LT(lines.find("\"node\""), lines.find("the log disk is full")) << lines;
  EXPECT_FALSE(store_.write_due());
}

TEST_F(RunStoreTest, WhatIsDueIsWrittenByItself) {
  store_.note("notice", "soon");
  const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
  while (const auto due = store_.write_due()) {
    ASSERT_LT(monotonic_now(), limit);
    loop_.run_one(*due);
  }
  EXPECT_THAT(file("events.jsonl"), HasSubstr("soon"));
}

TEST_F(RunStoreTest, EachAttemptHasAFolder) {
  ASSERT_TRUE(store_.begin_attempt(Attempt(3)));
  EXPECT_EQ(store_.attempt_folder(), store_.folder().path() + "/attempt-3");
}

TEST_F(RunStoreTest, ThePlanAndTheJobAreWrittenTogether) {
  options_.record.native = "command: ./train\n";
  store_.write_plan(make_plan());
  EXPECT_THAT(file("plan.json"), HasSubstr("node2"));
  EXPECT_THAT(file("job.yaml"), HasSubstr("command: ./train"));
}

TEST_F(RunStoreTest, TimesOfOutputAreWrittenOnceItHasEnded) {
  store_.note_time({Attempt(0), Rank(4), Stream::out, 0, "hello\n"});
  EXPECT_FALSE(std::filesystem::exists(store_.attempt_folder() + "/remote.times"));
  store_.end_output();
  EXPECT_GT(std::filesystem::file_size(store_.attempt_folder() + "/remote.times"), 0U);
}

TEST_F(RunStoreTest, AFileThatCannotBeWrittenIsSaid) {
  std::filesystem::remove_all(store_.folder().path());
  store_.write_summary("{}\n");
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], HasSubstr("summary.json"));
}

TEST_F(RunStoreTest, WithoutAFolderNothingBegins) {
  options_.spec.logs.dir = "/proc/nowhere";
  options_.environment = {{"HOME", "/proc/nowhere"}};
  RunStore other(loop_, options_, [](const std::string&) {});
  const Status opened = other.open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("no folder for this run"));
  EXPECT_FALSE(other.is_open());
  EXPECT_FALSE(other.write_due());
}

}  // namespace
}  // namespace dlaunch
