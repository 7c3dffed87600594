#include "os/program_output.h"

#include <cstdlib>
#include <memory>
#include <optional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlaunch {
namespace {

constexpr std::chrono::seconds kPlenty{60};

TEST(ProgramOutput, BothStreamsWhateverTheExitCode) {
  const auto text = program_output({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}, kPlenty);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "out\nerr\n");
}

TEST(ProgramOutput, IsCutOffWhenItIsLong) {
  const auto text = program_output({"sh", "-c", "head -c 300000 /dev/zero; echo end"}, kPlenty);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->size(), 65536U);
}

TEST(ProgramOutput, AProgramThatIsNotThere) {
  const auto missing = program_output({"no-such-program"}, kPlenty);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().exit_code, exit_code::kNotFound);
  const auto folder = program_output({"/tmp"}, kPlenty);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().exit_code, exit_code::kCannotExecute);
}

TEST(ProgramOutput, OneThatClosesItsOutputAndGoesOnIsKilled) {
  const auto text = program_output({"sh", "-c", "exec sleep 1000 >/dev/null 2>&1"},
                                   std::chrono::milliseconds(20));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().exit_code, exit_code::kTimeLimit);
}

TEST(ProgramOutput, OneThatDoesNotEndIsKilled) {
  const auto text = program_output({"sleep", "1000"}, std::chrono::milliseconds(20));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().exit_code, exit_code::kTimeLimit);
}

Result<std::string> beside_all_else(const std::vector<std::string>& argv,
                                    std::chrono::milliseconds limit) {
  EventLoop loop;
  std::optional<Result<std::string>> answer;
  const RunningProgram program(loop, argv, limit, nullptr,
                               [&](Result<std::string> text) { answer = std::move(text); });
  while (!answer) loop.run_one();
  return *answer;
}

TEST(RunningProgram, WhatItPrintsAndWhyNot) {
  const auto text = beside_all_else({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}, kPlenty);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, "out\nerr\n");
  const auto missing = beside_all_else({"no-such-program"}, kPlenty);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().exit_code, exit_code::kNotFound);
  const auto late = beside_all_else({"sleep", "1000"}, std::chrono::milliseconds(20));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().exit_code, exit_code::kTimeLimit);
}

TEST(RunningProgram, IsKilledWithItsOwner) {
  char file[] = "/tmp/running-program-XXXXXX";
  const UniqueFd written(::mkstemp(file));
  EventLoop loop;
  auto program = std::make_unique<RunningProgram>(
      loop,
      std::vector<std::string>{"sh", "-c", "echo $$ >" + std::string(file) + "; exec sleep 1000"},
      kPlenty, nullptr, [](const Result<std::string>&) { FAIL() << "done must not be called"; });
  std::string pid(16, '\0');
  while (pid.find('\n') == std::string::npos) {
    pid.resize(16);
    pid.resize(static_cast<std::size_t>(::pread(written.get(), pid.data(), pid.size(), 0)));
  }
  program.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(std::stoi(pid), &status, 0), std::stoi(pid));
  EXPECT_TRUE(WIFSIGNALED(status));
  ::unlink(file);
}

}  // namespace
}  // namespace dlaunch
