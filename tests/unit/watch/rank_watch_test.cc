// RankWatch over a real process (this one), a pipe and files.
#include "node/watch/rank_watch.h"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/descriptors.h"

namespace dlaunch {
namespace {

class RankWatchTest : public testing::Test {
 protected:
  RankWatchTest() {
    if (::mkdtemp(folder_) == nullptr) throw std::runtime_error("mkdtemp");
    auto pipe = make_pipe();
    pump_.begin(Attempt(2), folder_, 0);
    pump_.add(Rank(5), Stream::out, std::move(pipe->read));
    pipe_ = std::move(pipe->write);
  }
  ~RankWatchTest() override { std::filesystem::remove_all(folder_); }

  void begin(std::uint32_t pulse_ms = 1) {
    wire::StartRanks start;
    start.attempt = of_;
    start.pulse_ms = pulse_ms;
    start.metrics = {"loss ([0-9.]+)"};
    wire::StartRank& rank = start.ranks.emplace_back();
    rank.rank = Rank(5);
    rank.env = {{"DLAUNCH_HEARTBEAT_FILE", heartbeat()}};
    watch_.begin(start, std::chrono::milliseconds(0), {}, [this] {
      return std::vector<RankProcess>{{Rank(5), pid_}};
    });
  }
  [[nodiscard]] std::string heartbeat() const { return std::string(folder_) + "/heartbeat"; }

  /// Looks until a pulse says what is wanted of the rank.
  template <class Holds>
  bool until(const Holds& holds) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(10);
    while (monotonic_now() < end) {
      (void)loop_.run_one(monotonic_now() + std::chrono::milliseconds(2));
      watch_.look();
      for (const wire::Pulse& pulse : std::exchange(pulses_, {})) {
        for (const RankPulse& rank : pulse.ranks) last_ = rank;
        node_ = pulse.node;
        attempt_ = pulse.attempt;
      }
      if (holds(last_)) return true;
    }
    return false;
  }

  char folder_[32] = "/tmp/rank-watch-XXXXXX";
  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  AgentChannel channel_{loop_, duplicate(ends_.second.get()), std::move(ends_.second), 0, 1};
  OutputPump pump_{loop_, channel_};
  std::vector<wire::Pulse> pulses_;
  RankWatch watch_{loop_, pump_, [this](const wire::Pulse& pulse) { pulses_.push_back(pulse); }};
  UniqueFd pipe_;
  pid_t pid_ = ::getpid();
  Attempt of_{2};
  RankPulse last_;
  NodePulse node_;
  Attempt attempt_;
};

TEST_F(RankWatchTest, TellsOutputMetricsAndProcesses) {
  begin();
  ASSERT_EQ(::write(pipe_.get(), "loss 0.25\nnext", 14), 14);
  ASSERT_TRUE(until([](const RankPulse& rank) { return rank.output == 14; }));
  EXPECT_EQ(last_.rank, Rank(5));
  EXPECT_EQ(attempt_, Attempt(2));
  EXPECT_EQ(last_.last_line, "next");
  EXPECT_EQ(last_.metrics, (std::vector<MetricPulse>{{0, "0.25"}}));
  EXPECT_EQ(last_.state, "R");
  EXPECT_EQ(last_.processes, 1U);
  EXPECT_GT(last_.memory, 0U);
  EXPECT_GT(node_.cores, 0U);
  EXPECT_GT(node_.memory_available, 0U);
}

TEST_F(RankWatchTest, CountsChangesOfTheHeartbeatFile) {
  begin();
  ASSERT_TRUE(until([](const RankPulse& rank) { return rank.processes == 1; }));
  EXPECT_EQ(last_.heartbeats, 0U);
  std::ofstream(heartbeat()) << "1";
  ASSERT_TRUE(until([](const RankPulse& rank) { return rank.heartbeats == 1; }));
  std::filesystem::last_write_time(
      heartbeat(), std::filesystem::last_write_time(heartbeat()) + std::chrono::seconds(1));
  EXPECT_TRUE(until([](const RankPulse& rank) { return rank.heartbeats == 2; }));
}

TEST_F(RankWatchTest, ARankThatHasEndedHasNoProcess) {
  begin();
  ASSERT_TRUE(until([](const RankPulse& rank) { return rank.processes == 1; }));
  pid_ = 0;
  EXPECT_TRUE(until([](const RankPulse& rank) { return rank.processes == 0; }));
  EXPECT_EQ(last_.state, "");
}

TEST_F(RankWatchTest, TellsWhichPartOfTheCpuTimeIsTheRanks) {
  begin();
  ASSERT_TRUE(until([](const RankPulse& rank) { return rank.processes == 1; }));
  for (const std::clock_t begin = std::clock(); std::clock() - begin < CLOCKS_PER_SEC / 5;) {
  }
  ASSERT_TRUE(until([this](const RankPulse&) { return node_.cpu_percent > 0; }));
  EXPECT_GT(node_.ranks_cpu_percent, 0U);
  EXPECT_LE(node_.ranks_cpu_percent, node_.cpu_percent);
}

TEST_F(RankWatchTest, ANewAttemptBeginsWithoutTheCpuTimeOfTheLast) {
  begin();
  ASSERT_TRUE(until([this](const RankPulse&) { return node_.cores > 0; }));
  for (const std::clock_t begin = std::clock(); std::clock() - begin < CLOCKS_PER_SEC / 5;) {
  }
  of_ = Attempt(3);
  begin();
  ASSERT_TRUE(until([this](const RankPulse&) { return attempt_ == Attempt(3); }));
  EXPECT_EQ(node_.cpu_percent, 0U);
  EXPECT_EQ(node_.ranks_cpu_percent, 0U);
}

TEST_F(RankWatchTest, FindsNewProcessesBeforeItLooksAtTheNode) {
  begin();
  ::usleep(1100);
  watch_.look();
  ASSERT_EQ(pulses_.size(), 1U);
  const pid_t loader = ::fork();
  if (loader == 0) {
    ::alarm(30);
    ::pause();
    ::_exit(1);
  }
  ::usleep(1100);
  watch_.look();
  ::kill(loader, SIGKILL);
  ::waitpid(loader, nullptr, 0);
  ASSERT_EQ(pulses_.size(), 2U);
  EXPECT_EQ(pulses_[0].ranks.at(0).processes + 1, pulses_[1].ranks.at(0).processes);
}

TEST_F(RankWatchTest, SaysNothingWhereNothingChangesOrIsWatched) {
  pid_ = 0;
  begin();
  const auto is_told = [this] {
    for (int i = 0; i < 20; ++i) {
      ::usleep(1100);
      watch_.look();
    }
    return !std::exchange(pulses_, {}).empty();
  };
  EXPECT_TRUE(is_told()) << "the first look";
  EXPECT_FALSE(is_told());
  pid_ = ::getpid();
  EXPECT_TRUE(is_told());
  EXPECT_TRUE(watch_.end().empty());
  EXPECT_FALSE(is_told()) << "the attempt is over";
  begin(0);
  EXPECT_FALSE(is_told()) << "the job does not want it";
}

}  // namespace
}  // namespace dlaunch
