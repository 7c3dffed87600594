#include "runs/run_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "report/summary.h"
#include "runs/run_record.h"
#include "unit/report/report_builder.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kOld = "20261118-090000-aaa";
constexpr const char* kMiddle = "20261120-080000-aab";
constexpr const char* kNew = "20261120-090000-abb";

class RunIndex : public testing::Test {
 protected:
  RunIndex() {
    char name[] = "/tmp/dlaunch-index-XXXXXX";
    root_ = ::mkdtemp(name);
    places_ = {root_ + "/runs", root_ + "/state", "/home/me"};
  }
  ~RunIndex() override { fs::remove_all(root_); }

  std::string make(const std::string& base, const std::string& id) const {
    fs::create_directories(base + '/' + id);
    return base + '/' + id;
  }
  void end(const std::string& path, int code) const {
    LaunchPlan plan = testing_support::make_plan(1, 2);
    plan.run_id = fs::path(path).filename();
    RunReport report;
    report.outcome.exit_code = code;
    report.outcome.cause = code == 0 ? Cause::success : Cause::exit_code;
    std::ofstream(path + "/summary.json") << summary_json(SummaryInput{&plan, report, path, {}});
  }
  static RunRecord record_of(const std::string& path, const std::string& folder = "/home/me") {
    RunRecord record;
    record.run = fs::path(path).filename();
    record.folder = folder;
    record.host = host_name();
    record.boot_id = boot_id();
    return record;
  }
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }

  std::string root_;
  RunFolders places_;
};

TEST_F(RunIndex, NothingThereIsAnEmptyList) {
  const FoundRuns found = list_runs(places_, 10);
  EXPECT_TRUE(found.runs.empty());
  EXPECT_TRUE(found.notes.empty());
  const auto none = find_run(places_, "");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().exit_code, exit_code::kUsage);
}

TEST_F(RunIndex, NewestFirstAndAsManyAsAskedFor) {
  for (const char* id : {kMiddle, kNew, kOld}) end(make(places_.base, id), 0);
  const FoundRuns found = list_runs(places_, 2);
  ASSERT_EQ(found.runs.size(), 2U);
  EXPECT_EQ(found.runs[0].id, kNew);
  EXPECT_EQ(found.runs[1].id, kMiddle);
  EXPECT_TRUE(found.more);
  EXPECT_FALSE(list_runs(places_, 3).more);
}

TEST_F(RunIndex, ForeignAndDamagedFoldersAreSkipped) {
  fs::create_directories(places_.base + "/notes");
  fs::create_directories(places_.base + "/20261120");
  make(places_.base, kOld);  // neither run.json nor summary.json
  write(make(places_.base, kMiddle) + "/run.json", "{\"version\": 1, ");
  end(make(places_.base, kNew), 0);
  const FoundRuns found = list_runs(places_, 10);
  ASSERT_EQ(found.runs.size(), 1U);
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_THAT(found.notes[0], HasSubstr("run.json"));
  EXPECT_THAT(found.notes[1], HasSubstr("has no run.json"));
}

TEST_F(RunIndex, AFifoInPlaceOfAFileBlocksNobody) {
  const std::string path = make(places_.base, kOld);
  ASSERT_EQ(::mkfifo((path + "/run.json").c_str(), 0600), 0);
  EXPECT_FALSE(read_run(path));
}

TEST_F(RunIndex, AnEngineThatLivesIsSeenByItsLock) {
  const std::string path = make(places_.base, kNew);
  {
    auto presence = RunPresence::announce(RunDirectory::existing(path), record_of(path));
    ASSERT_TRUE(presence) << presence.error().message;
    const auto run = read_run(path);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_TRUE(run->witness.record->locked);
    EXPECT_EQ(run->state, RunState::running);
    presence->set_stopping(true);
    EXPECT_EQ(read_run(path)->state, RunState::stopping);
    presence->set_stopping(false);
    EXPECT_EQ(read_run(path)->state, RunState::running);
  }
  EXPECT_EQ(read_run(path)->state, RunState::lost);
  end(path, 7);
  EXPECT_EQ(read_run(path)->state, RunState::failed);
}

TEST_F(RunIndex, TheProcessCountsWhereLocksDoNot) {
  const std::string path = make(places_.base, kNew);
  RunRecord record = record_of(path);
  record.engine = identity_of(::getpid());
  write(path + "/run.json", run_record_json(record));
  EXPECT_EQ(read_run(path)->state, RunState::running);
  ++record.engine.start_ticks;  // another process has the pid now
  write(path + "/run.json", run_record_json(record));
  EXPECT_EQ(read_run(path)->state, RunState::lost);
}

TEST_F(RunIndex, OfTheStateFolderOnlyRunsThatWereStartedHere) {
  const std::string here = make(places_.state_base, kOld);
  const std::string elsewhere = make(places_.state_base, kNew);
  write(here + "/run.json", run_record_json(record_of(here)));
  write(elsewhere + "/run.json", run_record_json(record_of(elsewhere, "/home/you")));
  const FoundRuns found = list_runs(places_, 10);
  ASSERT_EQ(found.runs.size(), 1U);
  EXPECT_EQ(found.runs[0].id, kOld);
  EXPECT_TRUE(find_run(places_, kNew));  // naming it suffices
}

TEST_F(RunIndex, AWordIsAnIdAUniquePartOfOneOrAPath) {
  for (const char* id : {kOld, kMiddle, kNew}) {
    end(make(places_.base, id), 0);
    fs::create_directories(places_.base + '/' + id + "/attempt-0");
  }
  const std::string path = places_.base + '/' + kOld;
  for (const std::string& word :
       {std::string(kOld), std::string("20261118"), std::string("aaa"), path, path + '/',
        path + "/attempt-0/", path + "/attempt-0/rank-3.out"}) {
    const auto run = find_run(places_, word);
    ASSERT_TRUE(run) << word << ": " << run.error().message;
    EXPECT_EQ(run->id, kOld) << word;
  }
  EXPECT_EQ(find_run(places_, "")->id, kNew);
  const auto several = find_run(places_, "20261120");
  ASSERT_FALSE(several);
  EXPECT_THAT(several.error().message, HasSubstr("2 runs"));
}

TEST_F(RunIndex, APidOfARunThatGoesOnIsNotTakenForThePartOfAnId) {
  const std::string path = make(places_.base, "20261120-090000-345");
  EXPECT_FALSE(find_run(places_, "345"));  // it has no run.json yet
  end(path, 0);
  EXPECT_TRUE(find_run(places_, "345"));
  const std::string live = make(places_.base, kNew);
  RunRecord record = record_of(live);
  record.engine.pid = 345;
  const auto presence = RunPresence::announce(RunDirectory::existing(live), record);
  ASSERT_TRUE(presence);
  const auto run = find_run(places_, "345");
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr(std::string("pid 345 belongs to run ") + kNew));
}

TEST_F(RunIndex, MistakesSayWhatToType) {
  end(make(places_.base, kOld), 0);
  const auto says = [&](const std::string& word) {
    return find_run(places_, word).error().message;
  };
  for (const char* pid : {"12345", "2"}) EXPECT_THAT(says(pid), HasSubstr("not by a pid")) << pid;
  for (const char* part : {"20261", "2026"})
    EXPECT_THAT(says(part), HasSubstr("could be 1 run; give more of the id")) << part;
  EXPECT_THAT(says("rank3"), HasSubstr("dlaunch logs --rank 3"));
  EXPECT_THAT(says("rank-3"), HasSubstr("dlaunch logs --rank 3"));
  EXPECT_THAT(says("nonsense"), HasSubstr("no run \"nonsense\""));
  EXPECT_THAT(says(places_.base), HasSubstr("dlaunch runs " + places_.base));
}

TEST(RunId, HasOneShape) {
  EXPECT_TRUE(is_run_id(kNew));
  for (const char* name : {"", "20261120", "20261120-090000-ABB", "20261120-090000-abbb",
                           "2026112a-090000-abb", "20261120_090000-abb"})
    EXPECT_FALSE(is_run_id(name)) << name;
}

}  // namespace
}  // namespace dlaunch
