#include "node/inspection.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "node/folder_speed.h"
#include "os/clock.h"

namespace dlaunch {
namespace {

using testing::SizeIs;

wire::Inspect question() {
  wire::Inspect ask;
  ask.folders = {"/tmp", "/there/is/no/such/folder"};
  ask.gpus = false;
  ask.collectives = false;
  return ask;
}

TEST(Inspection, FindsRoomAndWhatIsNotThere) {
  const NodeCondition found = inspect_node(question());
  ASSERT_THAT(found.disks, SizeIs(2));
  EXPECT_GT(found.disks[0].total_bytes, 0U);
  EXPECT_EQ(found.disks[0].problem, "");
  EXPECT_EQ(found.disks[1].problem, "No such file or directory");
  EXPECT_GT(found.open_files_hard, 0U);
}

TEST(Inspection, ReadsFilesOfCode) {
  char base[] = "/tmp/dlaunch-code-XXXXXX";
  ASSERT_NE(::mkdtemp(base), nullptr);
  const std::filesystem::path folder = base;
  std::filesystem::create_directories(folder / "a/b");
  for (const char* name : {"one.py", "a/two.py", "a/b/three.py"})
    std::ofstream(folder / name) << std::string(100'000, 'x');
  std::filesystem::create_symlink("one.py", folder / "link.py");
  ::mkfifo((folder / "fifo").c_str(), 0600);
  wire::Inspect ask = question();
  ask.code = {folder, "/there/is/no/such/folder"};
  const NodeCondition found = inspect_node(ask);
  ASSERT_THAT(found.code, SizeIs(1));
  EXPECT_EQ(found.code[0].path, folder);
  EXPECT_EQ(found.code[0].files, 3U);
  EXPECT_GT(found.code[0].took_ns, 0U);
  EXPECT_NE(found.code[0].file_system, "");
  FolderSpeedLimits limits;
  limits.files = 2;
  EXPECT_EQ(read_folder(folder, limits).files, 2U);
  limits.time = std::chrono::milliseconds(0);
  EXPECT_EQ(read_folder(folder, limits).files, 0U);
  std::filesystem::remove_all(folder);
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
