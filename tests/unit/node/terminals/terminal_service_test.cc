// TerminalService with real processes; the test reaps them as an agent does.
#include "node/terminals/terminal_service.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "node/containers/container_folder.h"
#include "os/clock.h"
#include "os/packet.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

TEST(WithPid, ReplacesEveryPlace) {
  EXPECT_EQ(with_pid({"gdb", "-p", "{pid}", "/proc/{pid}/fd/{pid}", "{}"}, 47),
            (std::vector<std::string>{"gdb", "-p", "47", "/proc/47/fd/47", "{}"}));
}

class TerminalServiceTest : public testing::Test {
 protected:
  TerminalServiceTest()
      : service_(
            loop_, [this](const wire::FromAgent& sent) { take(sent); }, containers_) {
    block_signals({SIGCHLD, SIGPIPE});
    become_subreaper();
    place_.pid = ::getpid();
    place_.variables = {{"PATH", "/bin:/usr/bin"}, {"RANK", "3"}};
    place_.workdir = "/tmp";
    place_.open_files = {256, 1024};
  }
  ~TerminalServiceTest() override {
    (void)service_.end_all("");
    EXPECT_TRUE(kill_descendants(std::chrono::seconds(10)));
  }

  void open(std::vector<std::string> argv, bool is_terminal) {
    wire::OpenTerminal request;
    request.id = 1;
    request.argv = std::move(argv);
    request.is_terminal = is_terminal;
    service_.open(request, place_);
  }
  void take(const wire::FromAgent& sent) {
    if (const auto* output = std::get_if<wire::TerminalOutput>(&sent)) output_ += output->bytes;
    if (const auto* taken = std::get_if<wire::TerminalTaken>(&sent)) taken_ = taken->up_to;
    if (const auto* ended = std::get_if<wire::TerminalEnded>(&sent)) ended_ = *ended;
  }
  template <class Done>
  void run_until(const Done& done) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!done() && monotonic_now() < end) {
      (void)loop_.run_one(monotonic_now() + std::chrono::milliseconds(5));
      bool none_left = false;
      while (const auto reaped = reap_one(none_left)) (void)service_.was_reaped(*reaped);
    }
    EXPECT_TRUE(done()) << output_;
  }
  bool shows(const std::string& text) const { return output_.find(text) != std::string::npos; }

  EventLoop loop_;
  Progress progress_;
  ContainerService containers_{loop_, progress_};
  RankPlace place_;
  std::string output_;
  std::uint64_t taken_ = ~std::uint64_t{0};
  std::optional<wire::TerminalEnded> ended_;
  TerminalService service_;
};

TEST_F(TerminalServiceTest, ACommandWithPipesEndsWithItsStatus) {
  open({"sh", "-c", "cat; echo $RANK; pwd; exit 3"}, false);
  EXPECT_EQ(taken_, 0U) << "it runs";
  service_.on(wire::TerminalInput{1, "typed\n"});
  service_.on(wire::TerminalInput{1, ""});
  run_until([&] { return ended_.has_value(); });
  EXPECT_EQ(output_, "typed\n3\n/tmp\n");
  EXPECT_EQ(taken_, 6U);
  EXPECT_EQ(ended_->problem, "");
  EXPECT_EQ(ended_->status.code(), 3);
}

TEST_F(TerminalServiceTest, ATerminalHasItsSizeAndFollowsIt) {
  wire::OpenTerminal request;
  request.id = 1;
  request.argv = {"sh", "-c", "stty size; read x; stty size"};
  request.rows = 33;
  request.columns = 101;
  service_.open(request, place_);
  run_until([&] { return shows("33 101\r\n"); });
  service_.on(wire::ResizeTerminal{1, 20, 70});
  service_.on(wire::TerminalInput{1, "x\r"});
  run_until([&] { return ended_.has_value(); });
  EXPECT_TRUE(shows("20 70\r\n")) << output_;
}

TEST_F(TerminalServiceTest, OutputThatIsNotTakenStopsTheProgramAndNoMore) {
  open({"sh", "-c", "head -c 1000000 /dev/zero; echo end"}, false);
  run_until([&] { return output_.size() == wire::kMostTerminal; });
  for (int turn = 0; turn < 20; ++turn)
    (void)loop_.run_one(monotonic_now() + std::chrono::milliseconds(5));
  EXPECT_EQ(output_.size(), wire::kMostTerminal);
  run_until([&] {
    service_.on(wire::TerminalTaken{1, output_.size()});
    return ended_.has_value();
  });
  EXPECT_EQ(output_.size(), 1'000'004U);
  EXPECT_TRUE(output_.ends_with("end\n"));
}

TEST_F(TerminalServiceTest, ASessionThatIsLeftEndsThoughItIgnoresSighup) {
  open({"sh", "-c", "trap '' HUP; sleep 1000 & echo up; sleep 1000; true"}, true);
  run_until([&] { return shows("up"); });
  service_.on(wire::CloseTerminal{1});
  EXPECT_FALSE(descendants().empty());
  run_until([&] { return descendants().empty(); });
  EXPECT_FALSE(ended_) << "the user has left";
}

TEST_F(TerminalServiceTest, TheEndOfTheAttemptTellsWhyAndWhom) {
  open({"sh", "-c", "echo up; sleep 1000; true"}, true);
  run_until([&] { return shows("up"); });
  const auto all = descendants();
  EXPECT_EQ(service_.end_all("the attempt has ended"), std::set<pid_t>(all.begin(), all.end()));
  ASSERT_TRUE(ended_);
  EXPECT_EQ(ended_->problem, "the attempt has ended");
}

TEST_F(TerminalServiceTest, WhatCannotBeStartedSaysSo) {
  open({"no-such-program"}, true);
  ASSERT_TRUE(ended_);
  EXPECT_EQ(ended_->status.code(), exit_code::kNotFound);
  EXPECT_NE(ended_->problem.find("no-such-program"), std::string::npos);
  service_.open({}, tl::unexpected(std::string("rank 3 has ended")));
  EXPECT_EQ(ended_->problem, "rank 3 has ended");
}

/// With the test in the role of a container's first process.
class ContainedTerminalTest : public TerminalServiceTest {
 protected:
  ContainedTerminalTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    ContainerService::Callbacks callbacks;
    callbacks.on_beside = [this](Rank rank, const BesideStarted& started, UniqueFd terminal) {
      service_.started(rank, started, std::move(terminal));
    };
    callbacks.on_beside_ended = [this](Rank rank, const wire::TerminalEnded& news) {
      service_.ended(rank, news);
    };
    containers_.set_callbacks(std::move(callbacks));
    wire::StartRanks start;
    start.entry_folder = std::string(base_) + "/dlaunch-enter-1";
    start.containers.emplace_back();
    EXPECT_TRUE(containers_.begin(start));
    EXPECT_TRUE(containers_.expect(Rank(3), {}, {}));
    socket_ = *connect_packets(entry_socket(start.entry_folder));
    say(EntryArrived{Rank(3)});
    run_until([&] { return containers_.is_in(Rank(3)); });
    EXPECT_EQ(next_demand(), EntryDemand{});
    place_.container = Rank(3);
  }
  ~ContainedTerminalTest() override {
    containers_.end();
    std::filesystem::remove_all(base_);
  }
  void say(const EntryNews& news) { EXPECT_TRUE(send_packet(socket_.get(), encode(news))); }
  std::optional<EntryDemand> next_demand() {
    std::optional<std::string> packet;
    handed_.clear();
    run_until([&] {
      if (!packet) packet = receive_packet(socket_.get(), kMostEntryBytes, 5, handed_, false);
      return packet.has_value();
    });
    return packet ? decode_demand(*packet) : std::nullopt;
  }

  char base_[32] = "/tmp/dlaunch-test-XXXXXX";
  UniqueFd socket_;
  std::vector<UniqueFd> handed_;
};

TEST_F(ContainedTerminalTest, InputWaitsUntilItRunsAndTheStatusComesFromInThere) {
  open({"cat"}, false);
  EXPECT_EQ(next_demand(), EntryDemand{EntryDemand::Kind::beside});
  ASSERT_EQ(handed_.size(), 4U);
  service_.on(wire::TerminalInput{1, "typed"});
  EXPECT_NE(taken_, 5U) << "it does not run yet";
  say(BesideStarted{1, 47});
  run_until([&] { return taken_ == 5; });
  char bytes[8] = {};
  EXPECT_EQ(::read(handed_[1].get(), bytes, sizeof bytes), 5);
  EXPECT_EQ(::write(handed_[2].get(), "out", 3), 3);
  say(wire::TerminalEnded{1, "", {false, 3}});
  run_until([&] { return ended_.has_value(); });
  EXPECT_EQ(output_, "out");
  EXPECT_EQ(ended_->status.code(), 3);
}

TEST_F(ContainedTerminalTest, AUserWhoLeavesBeforeItRunsHangsUpAllTheSame) {
  open({"sh"}, true);
  EXPECT_EQ(next_demand(), EntryDemand{EntryDemand::Kind::beside});
  service_.on(wire::CloseTerminal{1});
  say(BesideStarted{1, 47});
  EXPECT_EQ(next_demand(), (EntryDemand{EntryDemand::Kind::session, SIGHUP, 47}));
  EXPECT_EQ(next_demand(), (EntryDemand{EntryDemand::Kind::session, SIGKILL, 47}));
}

TEST_F(ContainedTerminalTest, ItEndsWithTheContainer) {
  open({"sh"}, true);
  EXPECT_EQ(next_demand(), EntryDemand{EntryDemand::Kind::beside});
  service_.container_left(Rank(4));
  EXPECT_FALSE(ended_);
  service_.container_left(Rank(3));
  ASSERT_TRUE(ended_);
  EXPECT_EQ(ended_->problem, "rank 3 has ended");
}

}  // namespace
}  // namespace dlaunch
