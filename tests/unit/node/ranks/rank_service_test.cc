// RankService with real processes, and a launcher's end of the channel in the same loop.
#include "node/ranks/rank_service.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "node/mpi/join_run.h"
#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

class RankServiceTest : public testing::Test {
 protected:
  RankServiceTest() {
    block_signals({SIGCHLD, SIGPIPE});
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    launcher_.start({[this](wire::FromAgent message) { received_.push_back(std::move(message)); },
                     [](const std::string&) {},
                     {}});
    agent_.start({[](const wire::ToAgent&) {}, [](const std::string&) {}, [] {}});
    EXPECT_TRUE(ranks_.watch_children());
  }
  ~RankServiceTest() override { std::filesystem::remove_all(folder_); }

  wire::StartRanks request(std::uint32_t rank, std::vector<std::string> argv, bool last) const {
    wire::StartRanks start;
    start.log_folder = start.workdir = folder_;
    start.commands.push_back({std::move(argv), false});
    start.ranks.emplace_back().rank = Rank(rank);
    start.output_credit = 65536;
    start.last = last;
    return start;
  }

  template <class Kind>
  std::size_t count() const {
    std::size_t found = 0;
    for (const wire::FromAgent& message : received_) found += std::holds_alternative<Kind>(message);
    return found;
  }

  template <class Kind>
  bool wait_for(std::size_t wanted = 1) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (count<Kind>() < wanted && loop_.run_one(end)) {
    }
    return count<Kind>() >= wanted;
  }

  char folder_[32] = "/tmp/rank-service-XXXXXX";
  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  LauncherChannel launcher_{loop_, duplicate(ends_.first.get()), std::move(ends_.first), 0, 1};
  AgentChannel agent_{loop_, duplicate(ends_.second.get()), std::move(ends_.second), 0, 1};
  FactsService facts_;
  OutputPump pump_{loop_, agent_};
  StdinPump stdin_{loop_, agent_};
  Enclosure enclosure_;
  MpiService mpi_{loop_, agent_, {}};
  Progress progress_;
  MpirunService mpirun_{loop_, agent_, progress_};
  ContainerService containers_{loop_, progress_};
  StackService stacks_{loop_, [](const wire::StacksTaken&) {}};
  TerminalService terminals_{loop_, [](const wire::FromAgent&) {}, containers_};
  RankWatch watch_{loop_, pump_, [](const wire::Pulse&) {}};
  PreemptionWatch preemption_{loop_, enclosure_, [](const wire::FromAgent&) {}};
  PreloadService preload_{loop_, enclosure_, [](const std::string&) {}};
  RankService ranks_{loop_,   agent_,     pump_,  stdin_,      facts_,   mpi_,      mpirun_, containers_,
                     stacks_, terminals_, watch_, preemption_, preload_, enclosure_};
  std::vector<wire::FromAgent> received_;
};

TEST_F(RankServiceTest, NothingIsStartedAfterARankThatCouldNotBe) {
  // wire/message.h, RankNotStarted: "No rank after this one is started on the node."
  ranks_.start(request(0, {"/bin/sleep", "60"}, false));
  ASSERT_TRUE(wait_for<wire::RanksStarted>());
  ranks_.start(request(1, {"/no/such/program"}, false));
  ranks_.start(request(2, {"/bin/sleep", "60"}, true));
  ASSERT_TRUE(wait_for<wire::RankNotStarted>());
  ranks_.stop({Attempt(0), SIGKILL});
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  EXPECT_EQ(count<wire::RanksStarted>(), 1U);
  EXPECT_EQ(count<wire::RankExited>(), 1U);
}

TEST_F(RankServiceTest, FilesExistBeforeTheFirstRankAndArePrivate) {
  const std::string folder(folder_);
  wire::StartRanks start =
      request(0, {"/bin/sh", "-c", "cmp new/deep/hostfile copy && cmp empty /dev/null"}, true);
  std::ofstream(folder + "/copy") << "earlier content";
  std::filesystem::permissions(folder + "/copy", std::filesystem::perms::all);
  start.files = {{folder + "/new/deep/hostfile", "a slots=2\n"},
                 {folder + "/copy", "a slots=2\n"},
                 {folder + "/empty", ""}};
  ranks_.start(std::move(start));
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  ASSERT_EQ(count<wire::RankExited>(), 1U);
  for (const wire::FromAgent& message : received_) {
    const auto* exited = std::get_if<wire::RankExited>(&message);
    if (exited != nullptr) {
      EXPECT_EQ(exited->status, (ExitStatus{false, 0, false}));
    }
  }
  using std::filesystem::perms;
  const auto mode = [&](const std::string& name) {
    return std::filesystem::status(folder + name).permissions();
  };
  EXPECT_EQ(mode("/new/deep/hostfile"), perms::owner_read | perms::owner_write);
  EXPECT_EQ(mode("/copy"), perms::owner_read | perms::owner_write) << "it was there before";
  EXPECT_EQ(mode("/new"), perms::owner_all);
  EXPECT_EQ(mode("/new/deep"), perms::owner_all);
}

TEST_F(RankServiceTest, DescriptorsMustSufficeForTheLogFilesToo) {
  wire::StartRanks start = request(0, {"/bin/true"}, true);
  for (std::uint32_t rank = 1; rank < 30; ++rank) start.ranks.emplace_back().rank = Rank(rank);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 100;  // enough for 60 pipes, not for 60 files as well
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  ranks_.start(std::move(start));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  EXPECT_EQ(count<wire::RanksStarted>(), 0U);
  EXPECT_EQ(count<wire::RankNotStarted>(), 1U);
}

TEST_F(RankServiceTest, WithoutItsFilesNoRankStarts) {
  const std::string folder(folder_);
  std::filesystem::create_symlink("/dev/null", folder + "/link");
  for (const std::string& path : {std::string("/dev/null/hostfile"), folder + "/link"}) {
    received_.clear();
    wire::StartRanks start = request(0, {"/bin/true"}, true);
    start.attempt = Attempt(path.size());
    start.files = {{folder + "/first", "x"}, {path, "y"}};
    ranks_.start(std::move(start));
    ASSERT_TRUE(wait_for<wire::AttemptEnded>()) << path;
    EXPECT_EQ(count<wire::RanksStarted>(), 0U) << path;
    ASSERT_EQ(count<wire::RankNotStarted>(), 1U) << path;
    const auto& told = std::get<wire::RankNotStarted>(received_.front());
    EXPECT_EQ(told.failure.step, StartFailure::Step::resources);
    EXPECT_EQ(told.failure.path, "cannot write " + path);
  }
}

TEST_F(RankServiceTest, LaterPartsOfAnAttemptThatHasEndedStartNothing) {
  ranks_.start(request(0, {"/no/such/program"}, false));
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  ranks_.start(request(1, {"/bin/true"}, true));
  wire::StartRanks next = request(0, {"/bin/true"}, true);
  next.attempt = Attempt(1);
  ranks_.start(std::move(next));
  ASSERT_TRUE(wait_for<wire::AttemptEnded>(2));
  EXPECT_EQ(count<wire::RanksStarted>(), 1U);
}

TEST_F(RankServiceTest, StopsAndKillsOnlyTheRanksOfAList) {
  ranks_.start(request(0, {"/bin/sleep", "60"}, false));
  ranks_.start(request(1, {"/bin/sleep", "60"}, false));
  ranks_.start(request(2, {"/bin/sleep", "60"}, true));
  ASSERT_TRUE(wait_for<wire::RanksStarted>(3));
  ranks_.stop({Attempt(0), SIGTERM, {Rank(1)}});
  ASSERT_TRUE(wait_for<wire::RankExited>());
  ranks_.kill({Attempt(0), {Rank(2)}});
  ASSERT_TRUE(wait_for<wire::RankExited>(2));
  EXPECT_EQ(count<wire::AttemptEnded>(), 0U);
  ranks_.kill({Attempt(0)});
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  std::vector<std::pair<Rank, int>> ends;
  for (const wire::FromAgent& message : received_) {
    const auto* exited = std::get_if<wire::RankExited>(&message);
    if (exited == nullptr) continue;
    ends.emplace_back(exited->rank, exited->status.value);
    EXPECT_TRUE(exited->after_signal);
  }
  EXPECT_EQ(ends, (std::vector<std::pair<Rank, int>>{
                      {Rank(1), SIGTERM}, {Rank(2), SIGKILL}, {Rank(0), SIGKILL}}));
}

TEST_F(RankServiceTest, ARankThatHasEndedBeforeTheStopDidSoByItself) {
  ranks_.start(request(0, {"/bin/false"}, true));
  siginfo_t ended{};  // and left for the service to reap
  ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  ranks_.stop({Attempt(0), SIGTERM});
  ASSERT_TRUE(wait_for<wire::RankExited>());
  for (const wire::FromAgent& message : received_) {
    if (const auto* exited = std::get_if<wire::RankExited>(&message)) {
      EXPECT_FALSE(exited->after_signal);
    }
  }
}

// ---- ranks that mpirun starts: a child of this test in place of its proxies

class JoinedRankTest : public RankServiceTest {
 protected:
  /// The end of a rank to which Hydra has assigned a number.
  ExitStatus end_of_rank(const std::string& script, bool are_mpi, std::uint32_t world = 1) {
    wire::StartRanks start = request(0, {"/bin/bash", "-c", script}, true);
    start.join_folder = std::string(folder_) + "/own/join-0";
    start.are_mpi = are_mpi;
    start.world = world;
    ranks_.start(start);
    EXPECT_TRUE(wait_for<wire::RanksAwaited>());
    if (::fork() == 0) {
      (void)join_run(start.join_folder,
                     {{"PMI_RANK", "0"}, {"PMI_FD", std::to_string(proxy_.second.get())}});
      ::_exit(1);
    }
    proxy_.second.reset();
    EXPECT_TRUE(wait_for<wire::AttemptEnded>());
    for (const wire::FromAgent& message : received_) {
      if (const auto* exited = std::get_if<wire::RankExited>(&message)) return exited->status;
    }
    ADD_FAILURE() << "no rank has ended";
    return {};
  }
  std::string heard_by_proxy() {
    char bytes[64];
    const ssize_t n = ::recv(proxy_.first.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
  }

  std::pair<UniqueFd, UniqueFd> proxy_ = *make_socket_pair(SOCK_STREAM);
};

TEST_F(JoinedRankTest, OneThatSpeaksWithMpirunEndsWell) {
  EXPECT_TRUE(end_of_rank("echo cmd=init >&$PMI_FD", true).ok());
  EXPECT_EQ(heard_by_proxy(), "cmd=init\n");
}

TEST_F(JoinedRankTest, OneThatNeverMeetsMpirunHasFailed) {
  const ExitStatus status = end_of_rank("true", true);
  EXPECT_EQ(status.mpi, MpiEnd::never_connected);
  EXPECT_FALSE(status.ok());
}

TEST_F(JoinedRankTest, OneThatMakesAnotherWorldHasFailed) {
  const ExitStatus status = end_of_rank(
      "echo cmd=init pmi_version=1 pmi_subversion=1 >&$PMI_FD; echo cmd=finalize >&$PMI_FD", true,
      2);
  EXPECT_EQ(status, (ExitStatus{false, 0, false, "", MpiEnd::other_world, 1}));
}

TEST_F(JoinedRankTest, OneThatNeedNotMeetItHasNot) {
  EXPECT_TRUE(end_of_rank("true", false).ok());
}

TEST_F(JoinedRankTest, WhatFailsByItselfIsCalledThat) {
  EXPECT_EQ(end_of_rank("exit 3", true), (ExitStatus{false, 3}));
}

/// MPICH 4.0 after Hydra's proxy has ended: MPI_Abort returns, and the program continues.
TEST_F(JoinedRankTest, TheCodeOfMpiAbortCounts) {
  const ExitStatus status = end_of_rank("echo cmd=abort exitcode=9 >&$PMI_FD; exit 97", true);
  EXPECT_EQ(status.value, 9);
  EXPECT_EQ(status.mpi, MpiEnd::aborted);
}

TEST_F(JoinedRankTest, TheirDescriptorsAreCountedToo) {
  wire::StartRanks start = request(0, {"/bin/true"}, true);
  for (std::uint32_t rank = 1; rank < 10; ++rank) start.ranks.emplace_back().rank = Rank(rank);
  start.join_folder = std::string(folder_) + "/own/join-0";
  start.are_mpi = true;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 70;  // enough for 20 pipes and 20 files, not for 50 sockets as well
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  ranks_.start(std::move(start));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(wait_for<wire::AttemptEnded>());
  EXPECT_EQ(count<wire::RankNotStarted>(), 1U);
  EXPECT_EQ(count<wire::RanksAwaited>(), 0U);
}

TEST_F(RankServiceTest, EachAttemptGetsAnotherPort) {
  std::set<std::uint16_t> seen;
  for (std::uint32_t attempt = 0; attempt < 200; ++attempt) {
    const NodeFacts facts = facts_.gather({2, {}, Attempt(attempt)});
    ASSERT_EQ(facts.reserved_ports.size(), 2U);
    for (const std::uint16_t port : facts.reserved_ports) EXPECT_TRUE(seen.insert(port).second);
  }
}

}  // namespace
}  // namespace dlaunch
