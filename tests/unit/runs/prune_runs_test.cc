#include "runs/prune_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/file.h>
#include <unistd.h>

#include "os/clear_folder.h"
#include "os/clock.h"
#include "runs/run_record.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kOld = "20261118-090000-aaa";
constexpr const char* kNew = "20261120-090000-abb";
constexpr WallTime kBoot{std::chrono::hours(1000)};

RunView run_in(RunState state) {
  RunView run;
  run.state = state;
  run.witness.record = RunRecord{};
  run.witness.record->host = "here";
  run.witness.record->boot_id = "now";
  run.witness.host = "here";
  run.witness.boot_id = "now";
  return run;
}

TEST(WhyKept, FinishedRunsMayGo) {
  for (const RunState state : {RunState::done, RunState::failed, RunState::stopped, RunState::lost})
    EXPECT_EQ(why_kept(run_in(state), kBoot + std::chrono::hours(1), kBoot), "") << name_of(state);
}

TEST(WhyKept, WhatRunsOrMayRunStays) {
  for (const RunState state : {RunState::running, RunState::stopping})
    EXPECT_EQ(why_kept(run_in(state), kBoot, kBoot), "it is running");
  EXPECT_THAT(why_kept(run_in(RunState::unknown), kBoot, kBoot), HasSubstr("on here"));
  RunView writing = run_in(RunState::done);
  writing.witness.alive_lock = LockSeen::held;
  EXPECT_EQ(why_kept(writing, kBoot, kBoot), "it is running");
}

TEST(WhyKept, ALostRunOfAnotherBootWasWrittenBeforeThisOne) {
  RunView lost = run_in(RunState::lost);
  lost.witness.record->boot_id = "earlier";
  EXPECT_EQ(why_kept(lost, kBoot - std::chrono::hours(1), kBoot), "");
  EXPECT_THAT(why_kept(lost, kBoot + std::chrono::hours(1), kBoot), HasSubstr("another machine"));
}

TEST(WhyKept, ProcessesOfAnotherContainerAreNotSeen) {
  RunView lost = run_in(RunState::lost);
  lost.witness.record->host = "container";
  EXPECT_THAT(why_kept(lost, kBoot, kBoot), HasSubstr("container"));
  lost.witness.record->locked = true;  // the lock is free
  EXPECT_EQ(why_kept(lost, kBoot, kBoot), "");
}

class PruneRuns : public testing::Test {
 protected:
  PruneRuns() {
    char name[] = "/tmp/dlaunch-prune-XXXXXX";
    root_ = ::mkdtemp(name);
    places_ = {root_ + "/runs", root_ + "/state", "/home/me"};
  }
  ~PruneRuns() override { fs::remove_all(root_); }

  /// The folder of a run whose engine is gone.
  std::string make(const std::string& id) const {
    const std::string path = places_.base + '/' + id;
    fs::create_directories(path + "/attempt-0");
    RunRecord record;
    record.run = id;
    record.folder = "/home/me";
    record.host = own_hostname();
    record.boot_id = boot_id();
    std::ofstream(path + "/run.json") << run_record_json(record);
    std::ofstream(path + "/attempt-0/rank-0.out") << std::string(10000, 'x');
    return path;
  }

  std::string root_;
  RunFolders places_;
};

TEST_F(PruneRuns, RemovesAllButTheNewest) {
  const std::string old = make(kOld);
  const std::string newer = make(kNew);
  const Pruning dry = prune_runs(places_, {{}, 1, true});
  ASSERT_EQ(dry.runs.size(), 1U);
  EXPECT_GE(dry.runs[0].bytes, 10000U);
  EXPECT_TRUE(fs::exists(old));
  const Pruning done = prune_runs(places_, {{}, 1, false});
  ASSERT_EQ(done.runs.size(), 1U);
  EXPECT_EQ(done.runs[0].kept, "");
  EXPECT_EQ(done.runs[0].bytes, dry.runs[0].bytes);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(newer));
}

TEST_F(PruneRuns, AgeCountsFromTheLastThingWritten) {
  make(kOld);
  EXPECT_TRUE(prune_runs(places_, {std::chrono::hours(1), {}, false}).runs.empty());
  EXPECT_EQ(prune_runs(places_, {std::chrono::nanoseconds(0), {}, false}).runs.size(), 1U);
}

TEST_F(PruneRuns, AFolderInUseStays) {
  const std::string path = make(kOld);
  const UniqueFd lock = lock_own_folder(path);
  ASSERT_TRUE(lock);
  const Pruning pruning = prune_runs(places_, {{}, 0, false});
  ASSERT_EQ(pruning.runs.size(), 1U);
  EXPECT_EQ(pruning.runs[0].kept, "another process uses it");
  EXPECT_TRUE(fs::exists(path + "/attempt-0/rank-0.out"));
}

TEST_F(PruneRuns, ACopyWithAnotherRunsRecordStays) {
  fs::rename(make(kOld), places_.base + '/' + kNew);
  const Pruning pruning = prune_runs(places_, {{}, 0, false});
  ASSERT_EQ(pruning.runs.size(), 1U);
  EXPECT_THAT(pruning.runs[0].kept, HasSubstr(kOld));
}

TEST(BytesBelow, CountsWhatTheDiskGetsBack) {
  char name[] = "/tmp/dlaunch-bytes-XXXXXX";
  const std::string root = ::mkdtemp(name);
  fs::create_directories(root + "/in/deep");
  const auto bytes = [&] { return bytes_below(lock_own_folder(root + "/in")); };
  const std::uint64_t empty = bytes();
  std::ofstream(root + "/in/deep/file") << std::string(100000, 'x');
  EXPECT_GE(bytes(), empty + 100000);
  const std::uint64_t with_file = bytes();
  fs::create_symlink(root, root + "/in/up");
  EXPECT_LE(bytes(), with_file + 4096);
  fs::create_hard_link(root + "/in/deep/file", root + "/elsewhere");
  EXPECT_LT(bytes(), with_file);
  fs::remove_all(root);
}

}  // namespace
}  // namespace dlaunch
