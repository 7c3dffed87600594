#include "launch/slurm/command_output.h"

#include <cstdlib>
#include <fstream>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "os/clock.h"

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

const std::vector<std::string> kEnvironment = {"PATH=/usr/bin:/bin", "COLOUR=red"};

Result<CommandOutput> shell(const std::string& script, Duration limit = minutes(1),
                            const std::string& input = "") {
  return command_output({"sh", "-c", script}, kEnvironment, input, limit);
}

TEST(CommandOutput, IsAllThatItSaysAndHowItEnds) {
  const auto done = shell("cat; echo $COLOUR; echo no >&2; exit 3", minutes(1), "yes ");
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "yes red\n");
  EXPECT_EQ(done->errors, "no\n");
  EXPECT_EQ(done->wait_status, 3 << 8);
}

TEST(CommandOutput, IsWholeWhenItIsLong) {
  const auto done = shell("head -c 300000 /dev/zero");
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out.size(), 300'000U);
}

TEST(CommandOutput, OfAProgramThatDoesNotReadItsInput) {
  const auto done = shell("exit 4", minutes(1), std::string(1'000'000, 'x'));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->wait_status, 4 << 8);
}

TEST(CommandOutput, OfNoProgram) {
  const auto done = command_output({"no-such-program"}, kEnvironment, "", minutes(1));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("there is no program \"no-such-program\""));
}

TEST(CommandOutput, IsNotWaitedForBeyondTheLimit) {
  const auto done = shell("sleep 1000", milliseconds(20));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("sh has not answered within 20 ms"));
}

bool runs(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z" && state != "X";
}

// Its child holds stdout.
TEST(CommandOutput, OfOneThatLeavesAnotherBehind) {
  char path[] = "/tmp/dlaunch-left-XXXXXX";
  ::close(::mkstemp(path));
  const auto done =
      shell("sleep 5 & echo $! > " + std::string(path) + "; exit 0", milliseconds(500));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("has not answered within 500 ms"));
  std::string pid;
  std::ifstream(path) >> pid;
  ::unlink(path);
  const MonotonicTime end = monotonic_now() + seconds(3);
  while (!pid.empty() && runs(pid) && monotonic_now() < end) ::usleep(1000);
  EXPECT_TRUE(pid.empty() || !runs(pid)) << "its child is still there";
}

TEST(RunningCommand, MayBeForgottenByItsOwnAnswer) {
  EventLoop loop;
  std::unique_ptr<RunningCommand> command;
  std::string out;
  command = std::make_unique<RunningCommand>(loop, std::vector<std::string>{"echo", "hello"},
                                             kEnvironment, "", minutes(1),
                                             [&](const Result<CommandOutput>& answer) {
                                               out = answer->out;
                                               command.reset();
                                             });
  while (command) loop.run_one();
  EXPECT_EQ(out, "hello\n");
}

TEST(RunningCommand, CallsNobodyOnceItIsGone) {
  EventLoop loop;
  bool called = false;
  auto command = std::make_unique<RunningCommand>(
      loop, std::vector<std::string>{"sleep", "1000"}, kEnvironment, "", milliseconds(10),
      [&](const Result<CommandOutput>&) { called = true; });
  command.reset();
  const MonotonicTime end = monotonic_now() + milliseconds(50);
  while (monotonic_now() < end) loop.run_one(end);
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace dlaunch
