#include "os/program_output.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr seconds kPlenty{60};

// ---- program_output()

TEST(ProgramOutput, BothStreamsWhateverTheExitCode) {
  const auto text = program_output({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}, kPlenty);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "out\nerr\n");
}

TEST(ProgramOutput, IsCutOffWhenItIsLong) {
  const auto text = program_output({"sh", "-c", "head -c 3000000 /dev/zero; echo end"}, kPlenty);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->size(), 1024U * 1024U);
}

TEST(ProgramOutput, AProgramThatIsNotThere) {
  const auto missing = program_output({"no-such-program"}, kPlenty);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().exit_code, exit_code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("there is no program \"no-such-program\""));
  const auto folder = program_output({"/tmp"}, kPlenty);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().exit_code, exit_code::kCannotExecute);
}

TEST(ProgramOutput, OneThatClosesItsOutputAndGoesOnIsKilled) {
  const auto text =
      program_output({"sh", "-c", "exec sleep 1000 >/dev/null 2>&1"}, milliseconds(20));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().exit_code, exit_code::kTimeLimit);
}

TEST(ProgramOutput, OneThatDoesNotEndIsKilled) {
  const auto text = program_output({"sleep", "1000"}, milliseconds(20));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().exit_code, exit_code::kTimeLimit);
  EXPECT_EQ(text.error().message, "\"sleep\" did not end within 20 ms");
}

// ---- run_program()

Result<ProgramOutput> shell(const std::string& script, milliseconds limit = kPlenty,
                            std::string input = "") {
  return run_program({.argv = {"sh", "-c", script},
                      .limit = limit,
                      .environment = Environment{{"PATH", "/usr/bin:/bin"}, {"COLOUR", "red"}},
                      .input = std::move(input)});
}

TEST(RunProgram, ReturnsAllThatItSaysAndHowItEnds) {
  const auto done = shell("cat; echo $COLOUR; echo no >&2; exit 3", kPlenty, "yes ");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->out, "yes red\n");
  EXPECT_EQ(done->errors, "no\n");
  EXPECT_EQ(done->wait_status, 3 << 8);
  EXPECT_FALSE(done->succeeded());
}

TEST(RunProgram, OneThatDoesNotReadItsInput) {
  const auto done = shell("exit 4", kPlenty, std::string(1'000'000, 'x'));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->wait_status, 4 << 8);
}

bool runs(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z" && state != "X";
}

// Its child holds stdout.
TEST(RunProgram, OneThatLeavesAnotherProcessBehind) {
  char path[] = "/tmp/dlaunch-left-XXXXXX";
  ::close(::mkstemp(path));
  const auto done =
      shell("sleep 5 & echo $! > " + std::string(path) + "; exit 0", milliseconds(500));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().exit_code, exit_code::kTimeLimit);
  std::string pid;
  std::ifstream(path) >> pid;
  ::unlink(path);
  ASSERT_NE(pid, "");
  const MonotonicTime end = monotonic_now() + seconds(3);
  while (runs(pid) && monotonic_now() < end) ::usleep(1000);
  EXPECT_FALSE(runs(pid)) << "its child is still there";
}

// ---- RunningProgram

TEST(RunningProgram, MayBeDestroyedByItsOwnAnswer) {
  EventLoop loop;
  std::unique_ptr<RunningProgram> program;
  std::string out;
  program = std::make_unique<RunningProgram>(
      loop, ProgramCall{.argv = {"echo", "hello"}, .limit = kPlenty},
      [&](const Result<ProgramOutput>& answer) {
        out = answer ? answer->out : answer.error().message;
        program.reset();
      });
  while (program) loop.run_one();
  EXPECT_EQ(out, "hello\n");
}

// As an agent does, which is told of the ends of all children by SIGCHLD.
TEST(RunningProgram, HasEndedWhenAnotherPartOfTheProcessHasReapedIt) {
  EventLoop loop;
  std::optional<Result<ProgramOutput>> answer;
  const RunningProgram program(
      loop, {.argv = {"sh", "-c", "echo out; exit 3"}, .limit = kPlenty, .joined = true},
      [&](Result<ProgramOutput> output) { answer = std::move(output); });
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  while (!answer) loop.run_one();
  ASSERT_TRUE(*answer) << answer->error().message;
  EXPECT_EQ((*answer)->out, "out\n");
  EXPECT_EQ((*answer)->wait_status, std::nullopt);
}

TEST(RunningProgram, IsKilledWithItsOwnerAndCallsNothing) {
  char file[] = "/tmp/running-program-XXXXXX";
  const UniqueFd written(::mkstemp(file));
  EventLoop loop;
  auto program = std::make_unique<RunningProgram>(
      loop,
      ProgramCall{.argv = {"sh", "-c", "echo $$ >" + std::string(file) + "; exec sleep 1000"},
                  .limit = kPlenty},
      [](const Result<ProgramOutput>&) { FAIL() << "done must not be called"; });
  std::string pid(16, '\0');
  while (pid.find('\n') == std::string::npos) {
    pid.resize(16);
    pid.resize(static_cast<std::size_t>(::pread(written.get(), pid.data(), pid.size(), 0)));
  }
  program.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(std::stoi(pid), &status, 0), std::stoi(pid));
  EXPECT_TRUE(WIFSIGNALED(status));
  const MonotonicTime end = monotonic_now() + milliseconds(50);
  while (monotonic_now() < end) loop.run_one(end);
  ::unlink(file);
}

}  // namespace
}  // namespace dlaunch
