// RendezvousRelay with real sockets: this test holds the rank's and mpirun's ends.
#include "node/mpi/rendezvous_relay.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

constexpr Rank kRank{3};

class RendezvousRelayTest : public testing::Test {
 protected:
  RendezvousRelayTest() { block_signals({SIGPIPE}); }

  /// What can be read, once there is something; "closed" at the end.
  std::string heard(const UniqueFd& socket) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    char bytes[256];
    while (true) {
      const ssize_t n = ::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (n > 0) return {bytes, static_cast<std::size_t>(n)};
      if (n == 0 || errno != EAGAIN) return "closed";
      if (!loop_.run_one(end)) return "nothing";
    }
  }
  static void say(const UniqueFd& socket, std::string_view text) {
    ASSERT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  EventLoop loop_;
  RendezvousRelay relay_{loop_};
  Environment variables_;
};

/// Hydra's end of the socket, and the rank's.
std::pair<UniqueFd, UniqueFd> pass_pmi(RendezvousRelay& relay, Environment& variables) {
  auto ends = *make_socket_pair(SOCK_STREAM);
  UniqueFd rank = relay.pass(kRank, std::move(ends.second), variables);
  return {std::move(ends.first), std::move(rank)};
}

TEST_F(RendezvousRelayTest, PassesOnWhatBothSay) {
  auto [hydra, rank] = pass_pmi(relay_, variables_);
  EXPECT_EQ(relay_.has_met(kRank), false);
  say(rank, "cmd=init\n");
  EXPECT_EQ(relay_.has_met(kRank), true) << "also before it was read";
  EXPECT_EQ(heard(hydra), "cmd=init\n");
  say(hydra, "cmd=response\n");
  EXPECT_EQ(heard(rank), "cmd=response\n");
  EXPECT_EQ(relay_.has_met(kRank), true);
  rank.reset();
  EXPECT_EQ(heard(hydra), "closed");
}

TEST_F(RendezvousRelayTest, ARankThatSaysNothingHasNotMet) {
  auto [hydra, rank] = pass_pmi(relay_, variables_);
  rank.reset();
  EXPECT_EQ(heard(hydra), "closed");
  EXPECT_EQ(relay_.has_met(kRank), false);
  EXPECT_EQ(relay_.has_met(Rank(4)), std::nullopt) << "nothing is known of it";
}

TEST_F(RendezvousRelayTest, NothingIsKnownOfARankWithoutAWay) {
  EXPECT_FALSE(relay_.pass(kRank, UniqueFd(), variables_));
  EXPECT_EQ(relay_.has_met(kRank), std::nullopt);
}

/// MPICH 4.0: Hydra's proxy has ended, and MPI_Abort returns.
TEST_F(RendezvousRelayTest, MpiAbortIsHeardAlsoWhenMpirunIsGone) {
  auto [hydra, rank] = pass_pmi(relay_, variables_);
  say(rank, "cmd=init\ncmd=abort exit");
  EXPECT_EQ(heard(hydra), "cmd=init\ncmd=abort exit");
  EXPECT_EQ(relay_.aborted(kRank), std::nullopt);
  hydra.reset();
  EXPECT_EQ(heard(rank), "closed");
  say(rank, "code=9\n");
  EXPECT_EQ(relay_.aborted(kRank), 9) << "not read yet";
}

TEST_F(RendezvousRelayTest, MoreThanASocketHolds) {
  auto [hydra, rank] = pass_pmi(relay_, variables_);
  const std::string much(4 << 20, 'x');
  std::size_t sent = 0;
  std::size_t got = 0;
  std::string buffer(65536, '\0');
  const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
  while (got < much.size() && monotonic_now() < end) {
    const ssize_t out =
        ::send(rank.get(), much.data() + sent, much.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (out > 0) sent += static_cast<std::size_t>(out);
    if (out <= 0) loop_.run_one(monotonic_now() + std::chrono::milliseconds(1));
    // Only when the socket accepts no more.
    const ssize_t in =
        out > 0 ? 0 : ::recv(hydra.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (in > 0) got += static_cast<std::size_t>(in);
  }
  EXPECT_EQ(got, much.size());
}

struct TcpServer {
  TcpServer() : listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&own), size), 0);
    EXPECT_EQ(::listen(listener.get(), 4), 0);
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
    port = ntohs(own.sin_port);
  }
  UniqueFd listener;
  std::uint16_t port = 0;
};

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(port);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return socket;
}

TEST_F(RendezvousRelayTest, LeadsToTheServerOfPmix) {
  const TcpServer server;
  const std::string own = "job.0;tcp4://127.0.0.1:" + std::to_string(server.port);
  variables_ = {{"PMIX_SERVER_URI2", own}, {"PMIX_SERVER_URI41", own}, {"PMIX_RANK", "3"}};
  EXPECT_FALSE(relay_.pass(kRank, UniqueFd(), variables_));
  EXPECT_EQ(variables_.at("PMIX_RANK"), "3");
  EXPECT_EQ(variables_.at("PMIX_SERVER_URI2"), variables_.at("PMIX_SERVER_URI41"));
  const auto door = pmix_server_uri(variables_.at("PMIX_SERVER_URI2"));
  ASSERT_TRUE(door);
  EXPECT_EQ(door->before, "job.0;tcp4://");
  ASSERT_NE(door->port, server.port);
  EXPECT_EQ(relay_.has_met(kRank), false);
  const UniqueFd rank = connect_to(door->port);
  say(rank, "hello");
  EXPECT_EQ(relay_.has_met(kRank), true) << "it waits at the door";
}

TEST_F(RendezvousRelayTest, BothWaysThroughTheDoor) {
  const TcpServer server;
  variables_ = {{"PMIX_SERVER_URI4", "j;tcp4://127.0.0.1:" + std::to_string(server.port)}};
  EXPECT_FALSE(relay_.pass(kRank, UniqueFd(), variables_));
  UniqueFd rank = connect_to(pmix_server_uri(variables_.at("PMIX_SERVER_URI4"))->port);
  say(rank, "hello");
  ASSERT_TRUE(loop_.run_one(monotonic_now() + std::chrono::seconds(20)));
  const UniqueFd there(::accept(server.listener.get(), nullptr, nullptr));
  ASSERT_TRUE(there);
  EXPECT_EQ(heard(there), "hello");
  say(there, "welcome");
  EXPECT_EQ(heard(rank), "welcome");
  EXPECT_EQ(relay_.has_met(kRank), true);
  rank.reset();
  EXPECT_EQ(heard(there), "closed");
  EXPECT_EQ(relay_.has_met(kRank), true);
}

TEST(PmixServerUri, OnlyAddressesOfThisMachine) {
  EXPECT_EQ(pmix_server_uri("178893.0;tcp4://127.0.0.1:58779"),
            (PmixServerUri{"178893.0;tcp4://", "127.0.0.1", 58779}));
  for (const char* other :
       {"", "x", "a.0;tcp6://[::1]:58", "a.0;tcp4://10.0.0.1:58", "a.0;tcp4://127.0.0.1",
        "a.0;tcp4://127.0.0.1:", "a;tcp4://127.0.0.1:0", "a;tcp4://127.0.0.1:70000",
        "a;tcp4://127.0.0.1:5:pmix", "a;tcp4://127.x:5", "a.0;usock://1:2"})
    EXPECT_FALSE(pmix_server_uri(other)) << other;
}

PmiProgress told_by(std::string_view lines) {
  PmiProgress told;
  told.add(lines);
  return told;
}

TEST(PmiProgress, OfWholeLines) {
  EXPECT_EQ(told_by("cmd=init\ncmd=abort exitcode=9\n").aborted, 9);
  EXPECT_EQ(told_by("cmd=abort exitcode=-1\nx\n").aborted, -1);
  EXPECT_EQ(told_by("cmd=abort exitcode=\n").aborted, 1);
  EXPECT_EQ(told_by("cmd=abort exitcode=9"), PmiProgress());
  EXPECT_EQ(told_by("key=cmd=abort exitcode=9\n"), PmiProgress());
  EXPECT_EQ(told_by(""), PmiProgress());
  EXPECT_TRUE(told_by("cmd=init pmi_version=1 pmi_subversion=1\n").connected);
  EXPECT_FALSE(told_by("cmd=init pmi_version=2 pmi_subversion=0\n").connected);
  EXPECT_TRUE(told_by("cmd=get kvsname=k key=PMI_process_mapping\n").asked_of_others);
}

TEST_F(RendezvousRelayTest, AWorldOfOneIsKnown) {
  auto [hydra, rank] = pass_pmi(relay_, variables_);
  EXPECT_EQ(relay_.other_world(kRank, 4), std::nullopt) << "it has made none";
  EXPECT_EQ(relay_.other_world(Rank(4), 4), std::nullopt);
  say(rank, "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_NE(heard(hydra), "closed");
  EXPECT_EQ(relay_.other_world(kRank, 4), 1);
  EXPECT_EQ(relay_.other_world(kRank, 1), std::nullopt);
  say(rank, "cmd=get kvsname=k key=PMI_process_mapping\n");
  EXPECT_EQ(relay_.other_world(kRank, 4), std::nullopt) << "also before it was read";
}

}  // namespace
}  // namespace dlaunch
