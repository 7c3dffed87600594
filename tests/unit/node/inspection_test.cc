#include "node/inspection.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/stat.h>

#include "node/folder_speed.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

using testing::SizeIs;
namespace fs = std::filesystem;

const std::string kSample = "dlaunch-check-test";

wire::Inspect question() {
  wire::Inspect ask;
  ask.folders = {"/tmp", "/there/is/no/such/folder"};
  ask.gpus = false;
  ask.collectives = false;
  ask.limit_ms = 60'000;
  return ask;
}

TEST(Inspection, FindsRoomAndWhatIsNotThere) {
  const NodeCondition found = inspect_node(question(), kSample);
  ASSERT_THAT(found.disks, SizeIs(2));
  EXPECT_GT(found.disks[0].total_bytes, 0U);
  EXPECT_EQ(found.disks[0].problem, "");
  EXPECT_EQ(found.disks[1].problem, "No such file or directory");
  EXPECT_GT(found.open_files_hard, 0U);
}

/// A folder in /tmp, removed at the end.
class InspectedFolder : public testing::Test {
 protected:
  InspectedFolder() { EXPECT_NE(::mkdtemp(base_), nullptr); }
  ~InspectedFolder() override { fs::remove_all(base_); }
  [[nodiscard]] fs::path folder() const { return base_; }

 private:
  char base_[sizeof "/tmp/dlaunch-code-XXXXXX"] = "/tmp/dlaunch-code-XXXXXX";
};

TEST_F(InspectedFolder, ItsFilesAreFoundAndRead) {
  fs::create_directories(folder() / "a/b");
  for (const char* name : {"one.py", "a/two.py", "a/b/three.py"})
    std::ofstream(folder() / name) << std::string(100'000, 'x');
  fs::create_symlink("one.py", folder() / "link.py");
  ::mkfifo((folder() / "fifo").c_str(), 0600);
  wire::Inspect ask = question();
  ask.code = {folder(), folder(), "/there/is/no/such/folder"};
  const NodeCondition found = inspect_node(ask, kSample);
  ASSERT_THAT(found.code, SizeIs(1));
  EXPECT_EQ(found.code[0].path, folder());
  EXPECT_EQ(found.code[0].files, 3U);
  EXPECT_GT(found.code[0].lookup_ns, 0U);
  EXPECT_GT(found.code[0].took_ns, found.code[0].lookup_ns);
  EXPECT_EQ(found.code[0].bytes, 0U) << "too small for a rate";
  EXPECT_NE(found.code[0].file_system, "");
  FolderSpeedLimits limits;
  limits.files = 2;
  EXPECT_EQ(read_folder(folder(), limits).files, 2U);
  limits.time = std::chrono::milliseconds(0);
  EXPECT_EQ(read_folder(folder(), limits).files, 0U);
}

TEST_F(InspectedFolder, ItsLargestFilesShowTheRate) {
  std::ofstream(folder() / "small.py") << "x";
  std::ofstream(folder() / "large.so") << std::string(3'000'000, 'x');
  std::ofstream(folder() / "larger.so") << std::string(5'000'000, 'x');
  FolderSpeed found = read_folder(folder());
  EXPECT_EQ(found.files, 3U);
  EXPECT_EQ(found.bytes, 8'000'000U);
  EXPECT_GT(found.read_ns, 0U);
  FolderSpeedLimits limits;
  limits.bytes = 6'000'000;
  EXPECT_EQ(read_folder(folder(), limits).bytes, 6'000'000U);
  limits.large_files = 1;
  EXPECT_EQ(read_folder(folder(), limits).bytes, 5'000'000U);
  limits.reading = std::chrono::milliseconds(0);
  EXPECT_EQ(read_folder(folder(), limits).bytes, 0U);
}

TEST_F(InspectedFolder, IsReadWhereAProgramIsInAnEnvironment) {
  for (const char* one :
       {"venv/bin", "venv/lib/python3", "conda/conda-meta", "conda/lib", "usr/bin"})
    fs::create_directories(folder() / one);
  std::ofstream(folder() / "venv/pyvenv.cfg") << "home = /usr/bin\n";
  std::ofstream(folder() / "venv/lib/python3/module.py") << "x";
  EXPECT_EQ(environment_of(folder() / "venv/bin/python"), folder() / "venv/lib");
  EXPECT_EQ(environment_of(folder() / "conda/bin/python"), folder() / "conda/lib");
  EXPECT_EQ(environment_of(folder() / "usr/bin/python"), "");
  wire::Inspect ask = question();
  ask.programs = {folder() / "venv/bin/python", folder() / "usr/bin/python"};
  const NodeCondition found = inspect_node(ask, kSample);
  ASSERT_THAT(found.code, SizeIs(1));
  EXPECT_EQ(found.code[0].path, folder() / "venv/lib");
}

TEST_F(InspectedFolder, IsComparedWithALocalDisk) {
  EXPECT_EQ(inspect_node(question(), kSample).local.files, 0U) << "there is nothing to compare";
  const FolderSpeed found =
      read_local_sample({"", "relative", "/there/is/no/such/folder", folder(), "/tmp"}, kSample);
  EXPECT_EQ(found.path, folder());
  EXPECT_GT(found.files, 0U);
  EXPECT_TRUE(fs::is_empty(folder())) << "it is removed";
  std::ofstream(folder() / "module.py") << "x";
  wire::Inspect ask = question();
  ask.code = {folder()};
  EXPECT_GT(inspect_node(ask, kSample).local.files, 0U);
}

TEST_F(InspectedFolder, SharesOneLimitWithOthers) {
  std::vector<std::string> folders;
  for (int i = 0; i < 20; ++i) {
    folders.push_back(folder() / std::to_string(i));
    fs::create_directory(folders.back());
    std::ofstream(fs::path(folders.back()) / "module.py") << "x";
  }
  EXPECT_THAT(read_folders(folders, std::chrono::hours(1)), SizeIs(6)) << "each has its time";
  EXPECT_THAT(read_folders(folders, std::chrono::nanoseconds(0)), SizeIs(0));
}

/// Whether something with this beginning is in the folder.
bool has_sample(const fs::path& folder) {
  const auto is_sample = [](const fs::directory_entry& one) {
    return one.path().filename().string().starts_with("dlaunch-check-");
  };
  return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(), is_sample);
}

TEST_F(InspectedFolder, KeepsNoSampleOfAnInspectionThatIsKilled) {
  ::setenv("TMPDIR", folder().c_str(), 1);
  fs::create_directory(folder() / "code");
  std::ofstream(folder() / "code/module.py") << "x";
  wire::Inspect ask = question();
  ask.code = {folder() / "code"};
  EventLoop loop;
  bool is_answered = false;
  Inspection inspection(loop, [&](const wire::Inspected&) { is_answered = true; });
  const MonotonicTime end = monotonic_now() + std::chrono::minutes(1);
  while (!has_sample(folder()) && monotonic_now() < end) {  // again if it was too quick to be seen
    is_answered = false;
    inspection.begin(ask);
    while (!is_answered && !has_sample(folder())) loop.run_one(monotonic_now());
  }
  EXPECT_TRUE(has_sample(folder()));
  inspection.begin(question());
  while (has_sample(folder()) && monotonic_now() < end) ::sched_yield();
  EXPECT_FALSE(has_sample(folder()));
  ::unsetenv("TMPDIR");
}

TEST(Inspection, AnswersOnceFromAProcessOfItsOwn) {
  EventLoop loop;
  std::optional<NodeCondition> answer;
  Inspection inspection(loop, [&](const wire::Inspected& got) {
    EXPECT_FALSE(answer);
    answer = got.condition;
  });
  inspection.begin(question());
  const MonotonicTime end = monotonic_now() + std::chrono::minutes(1);
  while (!answer && monotonic_now() < end) loop.run_one(end);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->problem, "");
  ASSERT_THAT(answer->disks, SizeIs(2));
  EXPECT_EQ(answer->disks[1].path, "/there/is/no/such/folder");
}

TEST(Inspection, ALaterQuestionReplacesAnEarlierOne) {
  EventLoop loop;
  int answers = 0;
  Inspection inspection(loop, [&](const wire::Inspected& got) {
    ++answers;
    EXPECT_THAT(got.condition.disks, SizeIs(1));
  });
  inspection.begin(question());
  wire::Inspect other = question();
  other.folders.resize(1);
  inspection.begin(other);
  const MonotonicTime end = monotonic_now() + std::chrono::minutes(1);
  while (answers == 0 && monotonic_now() < end) loop.run_one(end);
  EXPECT_EQ(answers, 1);
}

// As a rank that measures: carried_environment(), then the job's own.
TEST(ProbeEnvironment, IsTheNodesWithWhatOfOursIsHereAndThenTheJobs) {
  wire::Inspect ask;
  ask.carried = {{"LD_LIBRARY_PATH", "/opt/mpi/lib:/gone:lib"}, {"PATH", "/gone"}};
  const auto exists = [](const std::string& folder) {
    return folder == "/opt/mpi/lib" || folder == "//lib";
  };
  const Environment login{{"HOME", "/root"}, {"LD_LIBRARY_PATH", "/own"}, {"PATH", "/bin"}};
  EXPECT_EQ(
      probe_environment(login, ask, exists),
      (Environment{
          {"HOME", "/root"}, {"LD_LIBRARY_PATH", "/opt/mpi/lib:lib:/own"}, {"PATH", "/bin"}}));
  ask.env = {{"LD_LIBRARY_PATH", "/of/the/job"}, {"NCCL_DEBUG", "INFO"}};
  EXPECT_EQ(probe_environment(login, ask, exists), (Environment{{"HOME", "/root"},
                                                                {"LD_LIBRARY_PATH", "/of/the/job"},
                                                                {"NCCL_DEBUG", "INFO"},
                                                                {"PATH", "/bin"}}));
  EXPECT_EQ(probe_environment(login, {}, exists), login);
}

}  // namespace
}  // namespace dlaunch
