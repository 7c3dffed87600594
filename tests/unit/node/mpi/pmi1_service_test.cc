// Pmi1Service with real sockets: this test holds the ranks' ends, and the launcher's end of the
// channel is in the same loop.
#include "node/mpi/pmi1_service.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

constexpr const char* kInit = "cmd=init pmi_version=1 pmi_subversion=1\n";
constexpr const char* kInitAnswer = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";

/// Two ranks on node 0, and one on node 1 where there is one.
class Pmi1ServiceTest : public testing::Test {
 protected:
  Pmi1ServiceTest() {
    block_signals({SIGPIPE});
    launcher_.start({[this](wire::FromAgent message) { received_.push_back(std::move(message)); },
                     [](const std::string&) {},
                     {}});
    agent_.start({[](const wire::ToAgent&) {}, [](const std::string&) {}, [] {}});
  }
  void prepare(bool two_nodes) {
    wire::PreparePmix job{Attempt(1), "dlaunch-1", {{"a", {{Rank(0), 2}}}}};
    if (two_nodes) job.nodes.push_back({"b", {{Rank(2), 1}}});
    if (environment_.empty()) started_for(two_nodes ? 3 : 2);
    service_.prepare(job);
    for (std::uint32_t rank : {0U, 1U}) ranks_[rank] = *service_.open(Rank(rank));
  }
  void started_for(int size) {
    environment_ = std::string("PATH=/bin\0PMI_SIZE=", 19) + std::to_string(size) + '\0';
  }
  void say(std::uint32_t rank, std::string_view text) {
    ASSERT_EQ(::send(ranks_[rank].get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// The next line to a rank; "closed" if its socket is closed.
  std::string heard(std::uint32_t rank) {
    std::string line;
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!line.ends_with('\n')) {
      char c = 0;
      const ssize_t n = ::recv(ranks_[rank].get(), &c, 1, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno == ECONNRESET)) return line + "closed";
      if (n == 1) {
        line += c;
      } else if (!loop_.run_one(end)) {
        return line + "nothing";
      }
    }
    return line;
  }
  std::string ask(std::uint32_t rank, std::string_view text) {
    say(rank, text);
    return heard(rank);
  }
  template <class Kind>
  const Kind* wait_for() {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (true) {
      for (const wire::FromAgent& message : received_) {
        if (const auto* found = std::get_if<Kind>(&message)) return found;
      }
      if (!loop_.run_one(end)) return nullptr;
    }
  }
  wire::PmixFence answer(std::uint64_t number, std::string bytes, std::int32_t status = 0) {
    return {Attempt(1), number, status, {}, std::move(bytes), true};
  }

  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  LauncherChannel launcher_{loop_, duplicate(ends_.first.get()), std::move(ends_.first), 0, 1};
  AgentChannel agent_{loop_, duplicate(ends_.second.get()), std::move(ends_.second), 0, 1};
  std::set<std::uint32_t> connected_;
  std::set<std::uint32_t> aborted_;
  std::string environment_;  // of the programs that ranks are
  Pmi1Service service_{
      loop_,
      agent_,
      {[this](Rank r) { connected_.insert(r.value); }, [this](Rank r) { aborted_.insert(r.value); },
       [this](pid_t pid) {
         EXPECT_EQ(pid, ::getpid()) << "the writer";
         return environment_;
       }}};
  UniqueFd ranks_[2];
  std::vector<wire::FromAgent> received_;
};

TEST_F(Pmi1ServiceTest, RanksOfOneNodeMeetWithoutTheLauncher) {
  prepare(false);
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(ask(rank, kInit), kInitAnswer);
  EXPECT_EQ(connected_, (std::set<std::uint32_t>{0, 1}));
  (void)ask(0, "cmd=put key=card-0 value=zero\n");
  say(0, "cmd=barrier_in\n");
  EXPECT_EQ(ask(1, "cmd=get key=PMI_process_mapping\n"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n");
  say(1, "cmd=barrier_in\n");
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(heard(rank), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(ask(1, "cmd=get key=card-0\n"), "cmd=get_result rc=0 msg=success value=zero\n");
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_EQ(ask(rank, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n");
    EXPECT_TRUE(service_.seen(Rank(rank)).finalized);
    service_.ended(Rank(rank));
  }
  while (loop_.run_one(monotonic_now())) {
  }
  EXPECT_TRUE(received_.empty()) << "of which the launcher need not know";
}

TEST_F(Pmi1ServiceTest, PutsTravelWithTheBarrier) {
  prepare(true);
  (void)ask(0, "cmd=put key=card-0 value=zero\n");
  for (const std::uint32_t rank : {0U, 1U}) say(rank, "cmd=barrier_in\n");
  const auto* sent = wait_for<wire::PmixFence>();
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(*sent, answer(0, std::string("card-0\0zero\n", 12)));
  service_.on(answer(7, ""));  // none of ours
  service_.on(answer(0, std::string("card-0\0zero\ncard-2\0two\n", 23)));
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(heard(rank), "cmd=barrier_out rc=0\n");
  EXPECT_EQ(ask(1, "cmd=get key=card-2\n"), "cmd=get_result rc=0 msg=success value=two\n");
}

TEST_F(Pmi1ServiceTest, NoRankWaitsForOneThatHasEnded) {
  prepare(true);
  (void)ask(1, kInit);
  say(0, "cmd=barrier_in\n");
  EXPECT_EQ(ask(1, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n");
  (void)service_.seen(Rank(0));
  service_.ended(Rank(1));
  EXPECT_EQ(heard(0), "closed");
  const auto* sent = wait_for<wire::PmixFence>();
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(*sent, answer(0, "", wire::kPmi1RankGone)) << "the other nodes must know";
  ASSERT_NE(wait_for<wire::Notice>(), nullptr);
}

TEST_F(Pmi1ServiceTest, WhoComesAfterwardsIsToldToo) {
  prepare(true);
  service_.on(answer(0, "", wire::kPmi1Mixed));
  const auto* said = wait_for<wire::Notice>();
  ASSERT_NE(said, nullptr);
  EXPECT_NE(said->text.find("the same MPI library"), std::string::npos);
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_EQ(ask(rank, kInit), kInitAnswer);
    EXPECT_EQ(ask(rank, "cmd=barrier_in\n"), "closed");
  }
}

TEST_F(Pmi1ServiceTest, WhatOthersSendIsChecked) {
  prepare(true);
  for (const std::uint32_t rank : {0U, 1U}) say(rank, "cmd=barrier_in\n");
  ASSERT_NE(wait_for<wire::PmixFence>(), nullptr);
  service_.on(answer(0, "no list of puts"));
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(heard(rank), "closed");
}

TEST_F(Pmi1ServiceTest, AbortIsTold) {
  prepare(false);
  (void)ask(0, kInit);
  say(0, "cmd=abort exitcode=7\n");
  EXPECT_EQ(service_.seen(Rank(0)).aborted, 7) << "unread bytes are read first";
  EXPECT_EQ(aborted_, (std::set<std::uint32_t>{0}));
}

TEST_F(Pmi1ServiceTest, AMaliciousClientHarmsNoOther) {
  for (const std::string& trick :
       {std::string("\0\0\0\n", 4), std::string(200'000, 'x'), std::string("cmd=fly\n"),
        std::string("mcmd=") + std::string(100, 'a') + "\n",
        std::string("cmd=barrier_in\ncmd=barrier_in\n")}) {
    received_.clear();
    prepare(false);
    // As much as fits; the rest would have to wait for the reader.
    (void)::send(ranks_[0].get(), trick.data(), trick.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    EXPECT_EQ(heard(0), "closed");
    const auto* said = wait_for<wire::Notice>();
    ASSERT_NE(said, nullptr);
    EXPECT_EQ(said->text.find("rank 0 "), 0U) << said->text;
    EXPECT_EQ(ask(1, kInit), kInitAnswer);
  }
}

TEST_F(Pmi1ServiceTest, AClientThatDoesNotReadIsDropped) {
  prepare(false);
  const int small = 4096;
  (void)::setsockopt(ranks_[0].get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  const std::string question = "cmd=get_my_kvsname\n";
  std::string flood;
  while (flood.size() < 60'000) flood += question;
  const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
  while (::send(ranks_[0].get(), flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 ||
         errno == EAGAIN) {
    ASSERT_TRUE(loop_.run_one(end)) << "never closed";
  }
  EXPECT_EQ(errno, EPIPE);
  EXPECT_EQ(ask(1, kInit), kInitAnswer);
}

TEST_F(Pmi1ServiceTest, AnotherAttemptIsAnotherKeySpace) {
  prepare(false);
  (void)ask(0, "cmd=put key=card-0 value=old\n");
  const int old = ::dup(ranks_[0].get());
  prepare(false);
  EXPECT_EQ(ask(0, "cmd=get key=card-0\n"),
            "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  char c = 0;
  EXPECT_EQ(::recv(old, &c, 1, MSG_DONTWAIT), 0) << "ranks of the last one are not heard";
  ::close(old);
}

TEST_F(Pmi1ServiceTest, NotOfferedWhereTheJobSaysSo) {
  wire::PreparePmix job{Attempt(1), "dlaunch-1", {{"a", {{Rank(0), 2}}}}};
  job.pmi1 = false;
  service_.prepare(job);
  EXPECT_FALSE(service_.offered());
  EXPECT_FALSE(service_.seen(Rank(0)).offered);
}

// What MPICH 4.0, 5 and Intel MPI send if their world has one rank (including a barrier).
TEST_F(Pmi1ServiceTest, AWorldOfOneIsKnownByWhatItDoesNotAsk) {
  prepare(false);
  for (const std::uint32_t rank : {0U, 1U}) {
    (void)ask(rank, kInit);
    if (rank == 0) (void)ask(rank, "cmd=get kvsname=k key=PMI_process_mapping\n");
    (void)ask(rank, "cmd=get kvsname=k key=PMI_hwloc_xmlfile\n");
    say(rank, "cmd=barrier_in\n");
  }
  for (const std::uint32_t rank : {0U, 1U}) {
    EXPECT_EQ(heard(rank), "cmd=barrier_out rc=0\n");
    (void)ask(rank, "cmd=finalize\n");
  }
  EXPECT_EQ(service_.seen(Rank(0)).other_world, std::nullopt);
  EXPECT_EQ(service_.seen(Rank(1)).other_world, 1);
}

TEST_F(Pmi1ServiceTest, WhoIsStartedForAWorldOfOneIsNotedAtOnce) {
  started_for(1);
  prepare(false);
  EXPECT_EQ(ask(1, kInit), kInitAnswer);
  const auto* note = wait_for<wire::Notice>();
  ASSERT_NE(note, nullptr);
  EXPECT_TRUE(note->text.starts_with("rank 1 starts an MPI world of 1, but the job has 2 ranks"))
      << note->text;
  EXPECT_EQ(service_.seen(Rank(1)).other_world, 1);
  received_.clear();
  EXPECT_EQ(ask(0, kInit), kInitAnswer);
  while (loop_.run_one(monotonic_now())) {
  }
  EXPECT_TRUE(received_.empty()) << "one note for a node";
  // A script may run the job's program afterwards.
  started_for(2);
  (void)ask(1, "cmd=finalize\n");
  (void)ask(1, kInit);
  (void)ask(1, "cmd=get kvsname=k key=PMI_process_mapping\n");
  EXPECT_EQ(service_.seen(Rank(1)).other_world, std::nullopt);
  EXPECT_TRUE(aborted_.empty());
}

TEST_F(Pmi1ServiceTest, WhoWouldWaitForRanksThatThereAreNotIsEnded) {
  started_for(3);
  prepare(false);
  say(1, kInit);
  while (aborted_.empty() && loop_.run_one(monotonic_now() + std::chrono::seconds(20))) {
  }
  EXPECT_EQ(aborted_, std::set<std::uint32_t>{1});
  const WireUp seen = service_.seen(Rank(1));
  EXPECT_EQ(seen.other_world, 3);
  EXPECT_TRUE(seen.hopeless);
}

}  // namespace
}  // namespace dlaunch
