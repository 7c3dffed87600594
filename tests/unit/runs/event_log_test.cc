#include "runs/event_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dlaunch {
namespace {

using nlohmann::json;

const WallTime kNow{std::chrono::seconds(1795208502)};
constexpr const char* kNowText = "2026-11-20T21:01:42.000000Z";

class EventLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "event-log-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file() const { return folder_ + "/events.jsonl"; }
  [[nodiscard]] std::vector<json> lines() const {
    std::ifstream in(file());
    std::vector<json> out;
    for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
    return out;
  }
  std::string folder_;
};

TEST_F(EventLogTest, EveryEventIsALine) {
  const StartFailure failure{StartFailure::Step::execute, ENOENT, "python3.12", "/usr/bin:/bin"};
  FailedAttempt failed;
  failed.outcome.cause = Cause::exit_code;
  failed.outcome.exit_code = 7;
  failed.outcome.first = Rank(3);
  failed.wait = std::chrono::milliseconds(2500);
  {
    Result<EventLog> log = EventLog::open(file());
    ASSERT_TRUE(log);
    log->add(event::NodeReady{NodeId(1)}, kNow);
    log->add(event::NodeLost{NodeId(1), "its agent was killed"}, kNow);
    event::PlanMade made{Attempt(0), {NodeId(0), NodeId(1)}, {}};
    made.names = {{NodeId(0), "gpu01"}, {NodeId(1), "gpu02"}};
    log->add(made, kNow);
    log->add(event::PlanFailed{Error{65, "bad\nfile"}}, kNow);
    log->add(event::RankStarted{Attempt(0), Rank(3), 4711, kNow}, kNow);
    log->add(event::RankNotStarted{Attempt(0), Rank(3), failure, kNow}, kNow);
    log->add(event::RankExited{Attempt(0), Rank(3), ExitStatus{false, 7, false}, kNow}, kNow);
    log->add(event::RankExited{Attempt(2), Rank(4), ExitStatus{true, SIGSEGV, true, "x"}, kNow},
             kNow);
    log->add(event::NodeEmpty{Attempt(0), NodeId(0), 2}, kNow);
    log->add(event::CancelSignal{SIGINT}, kNow);
    log->add(event::FrontGone{}, kNow);
    log->add(event::Tick{}, kNow);
    log->add(event::Progress{Attempt(0), 5}, kNow);  // too many for a line each
    log->add(event::Stall{Attempt(0), std::chrono::seconds(5)}, kNow);
    log->add(event::PortTaken{Attempt(0), Rank(0), {20001, "pid 7"}}, kNow);
    log->add(event::StarterEnded{Attempt(0), NodeId(0), {false, 1}, kNow, false, "words", {}},
             kNow);
    log->add(action::Restart{failed, Attempt(1)}, kNow);
    log->note("tell", "said \"so\"", kNow);
  }
  const std::vector<json> seen = lines();
  ASSERT_EQ(seen.size(), 16U);
  for (const json& line : seen) EXPECT_EQ(line.at("time"), kNowText);
  EXPECT_EQ(seen[0], (json{{"time", kNowText}, {"event", "node-ready"}, {"node", 1}}));
  EXPECT_EQ(seen[1].at("what"), "its agent was killed");
  EXPECT_EQ(seen[2].at("node_of_rank"), json::array({0, 1}));
  EXPECT_EQ(
      seen[2].at("nodes"),
      (json::array({json{{"node", 0}, {"name", "gpu01"}}, json{{"node", 1}, {"name", "gpu02"}}})));
  EXPECT_EQ(seen[3].at("message"), "bad\nfile");
  EXPECT_EQ(seen[4].at("pid"), 4711);
  EXPECT_EQ(seen[4].at("at"), kNowText);
  EXPECT_EQ(seen[5].at("step"), "execute");
  EXPECT_EQ(seen[5].at("message"), "cannot execute \"python3.12\": No such file or directory");
  EXPECT_EQ(seen[6].at("code"), 7);
  EXPECT_FALSE(seen[6].contains("signal"));
  EXPECT_FALSE(seen[6].contains("out_of_memory"));
  EXPECT_EQ(seen[7].at("out_of_memory"), "x");
  EXPECT_EQ(seen[7].at("signal"), "SIGSEGV");
  EXPECT_EQ(seen[7].at("core_dumped"), true);
  EXPECT_EQ(seen[8].at("leftovers"), 2);
  EXPECT_EQ(seen[9].at("signal"), "SIGINT");
  EXPECT_EQ(seen[10].at("event"), "front-gone");
  EXPECT_EQ(seen[11].at("event"), "tick");
  EXPECT_EQ(seen[12].at("event"), "port-taken");
  EXPECT_EQ(seen[12].at("port"), 20001);
  EXPECT_EQ(seen[12].at("holder"), "pid 7");
  EXPECT_EQ(seen[13].at("event"), "mpirun-ended");
  EXPECT_EQ(seen[13].at("code"), 1);
  EXPECT_EQ(seen[14], (json{{"time", kNowText},
                            {"event", "restart"},
                            {"attempt", 1},
                            {"wait_s", 2.5},
                            {"cause", "exit-code"},
                            {"exit_code", 7},
                            {"first", 3}}));
  EXPECT_EQ(seen[15].at("event"), "tell");
  EXPECT_EQ(seen[15].at("text"), "said \"so\"");
}

TEST_F(EventLogTest, ASyncIsALineForEachNode) {
  Result<EventLog> log = EventLog::open(file());
  ASSERT_TRUE(log);
  log->add(SyncedNode{NodeId(3), "gpu03", false, 12, 3'400'000, 1, 2, {"a"}}, kNow);
  ASSERT_TRUE(log->flush());
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_EQ(lines()[0], (json{{"time", kNowText},
                              {"event", "synced"},
                              {"node", 3},
                              {"shared", false},
                              {"files", 12},
                              {"bytes", 3'400'000},
                              {"removed", 1},
                              {"replaced", 2}}));
}

TEST_F(EventLogTest, AnyTextParses) {
  Result<EventLog> log = EventLog::open(file());
  ASSERT_TRUE(log);
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  log->note("note", all, kNow);
  ASSERT_TRUE(log->flush());
  const std::string text = lines().at(0).at("text");
  EXPECT_EQ(text.substr(0, 128), all.substr(0, 128));
  EXPECT_EQ(text.size(), 128 + 128 * 3U) << "each of the upper half is invalid alone: U+FFFD";
}

TEST_F(EventLogTest, TheFileIsPrivateAndAppendedTo) {
  for (int i = 0; i < 2; ++i) {
    Result<EventLog> log = EventLog::open(file());
    ASSERT_TRUE(log);
    log->add(event::Tick{}, kNow);
  }
  EXPECT_EQ(lines().size(), 2U);
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(EventLogTest, BuffersUntil64KiB) {
  Result<EventLog> log = EventLog::open(file());
  ASSERT_TRUE(log);
  log->note("note", "small", kNow);
  EXPECT_EQ(std::filesystem::file_size(file()), 0U);
  log->note("note", std::string(std::size_t{64} << 10, 'x'), kNow);
  EXPECT_GT(std::filesystem::file_size(file()), std::size_t{64} << 10);
}

TEST_F(EventLogTest, WhatIsBufferedIsSoonDue) {
  auto log = EventLog::open(file());
  ASSERT_TRUE(log);
  EXPECT_FALSE(log->due());
  log->add(event::Tick{}, kNow);
  log->add(event::Tick{}, kNow + std::chrono::milliseconds(50));
  EXPECT_EQ(log->due(), kNow + EventLog::kMostWait);
  EXPECT_TRUE(log->flush());
  EXPECT_FALSE(log->due());
  EXPECT_EQ(lines().size(), 2U);
}

TEST_F(EventLogTest, AFullDiskIsAnErrorAndCostsNoMemory) {
  Result<EventLog> log = EventLog::open("/dev/full");  // full(4): ENOSPC
  ASSERT_TRUE(log);
  for (int i = 0; i < 100; ++i) log->note("note", std::string(50'000, 'x'), kNow);
  const Status status = log->flush();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cannot write /dev/full: No space left on device");
}

TEST_F(EventLogTest, AMissingFolderIsAnError) {
  const Result<EventLog> log = EventLog::open(folder_ + "/no/events.jsonl");
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("No such file or directory"), std::string::npos);
}

TEST_F(EventLogTest, MovesKeepEveryLine) {
  {
    Result<EventLog> first = EventLog::open(file());
    ASSERT_TRUE(first);
    first->add(event::Tick{}, kNow);
    EventLog second = std::move(*first);
    second.add(event::FrontGone{}, kNow);
  }
  EXPECT_EQ(lines().size(), 2U);
}

}  // namespace
}  // namespace dlaunch
