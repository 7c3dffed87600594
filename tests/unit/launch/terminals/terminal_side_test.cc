// TerminalSide with fake nodes; the test is the user's process.
#include "launch/terminals/terminal_side.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../run_socket_fixture.h"
#include "launch/terminals/terminal_link.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "wire/value.h"

namespace dlaunch {
namespace {

class TerminalSideTest : public RunSocketTest {
 protected:
  TerminalSideTest() : side_(loop_, nodes_) {
    EXPECT_TRUE(side_.open(run_.path));
    side_.set_plan(&plan_);
  }
  ~TerminalSideTest() override { side_.close(); }

  UniqueFd ask(std::uint32_t rank, const std::string& build_id = own_build_id()) {
    auto socket = connect_to_run(run_, kTerminalSocket, SOCK_SEQPACKET);
    EXPECT_TRUE(socket);
    TerminalRequest request{build_id, {}};
    request.open.rank = Rank(rank);
    request.open.argv = {"cat"};
    EXPECT_TRUE(send_terminal_packet(socket->get(), TerminalPacket::open, encode(request)));
    return std::move(*socket);
  }
  /// A packet that the user's process gets; empty: none within the limit, or the end.
  std::string next(const UniqueFd& socket) {
    std::string packet(kMostTerminalPacket, '\0');
    ssize_t n = -1;
    run_until([&] {
      n = ::recv(socket.get(), packet.data(), packet.size(), MSG_DONTWAIT);
      return n >= 0;
    });
    packet.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return packet;
  }
  std::string why_ended(const UniqueFd& socket) {
    const std::string packet = next(socket);
    if (packet.empty() || packet.front() != 'x') return "not ended: " + packet;
    return wire::decode_value<wire::TerminalEnded>(std::string_view(packet).substr(1))->problem;
  }
  std::uint32_t opened() {
    run_until([&] { return !nodes_.sent<wire::OpenTerminal>().empty(); });
    return nodes_.sent<wire::OpenTerminal>().back().second.id;
  }
  std::uint64_t typed() const {
    std::uint64_t bytes = 0;
    for (const auto& [node, input] : nodes_.sent<wire::TerminalInput>()) bytes += input.bytes.size();
    return bytes;
  }

  TerminalSide side_;
};

TEST_F(TerminalSideTest, PassesOnBetweenAUserAndTheNodeOfTheRank) {
  const UniqueFd user = ask(3);
  const std::uint32_t id = opened();
  const auto [node, open] = nodes_.sent<wire::OpenTerminal>().back();
  EXPECT_EQ(node, NodeId(1));
  EXPECT_EQ(open.attempt, Attempt(3));
  EXPECT_EQ(open.argv, std::vector<std::string>{"cat"});
  side_.on(NodeId(1), wire::TerminalTaken{id, 0});
  EXPECT_EQ(next(user), "snode1");
  send_terminal_packet(user.get(), TerminalPacket::input, "ls\r");
  run_until([&] { return typed() == 3; });
  side_.on(NodeId(1), wire::TerminalOutput{id, Stream::out, "file\n"});
  EXPECT_EQ(next(user), "dfile\n");
  EXPECT_EQ(nodes_.sent<wire::TerminalTaken>().back().second.up_to, 5U);
  side_.on(NodeId(1), wire::TerminalEnded{id, "", {false, 3}});
  EXPECT_EQ(why_ended(user), "");
  EXPECT_EQ(next(user), "") << "the connection has ended";
}

TEST_F(TerminalSideTest, AnotherNodeHasNoSayInIt) {
  const UniqueFd user = ask(3);
  const std::uint32_t id = opened();
  side_.on(NodeId(0), wire::TerminalOutput{id, Stream::out, "forged"});
  side_.on(NodeId(0), wire::TerminalEnded{id, "forged", {}});
  side_.on(NodeId(1), wire::TerminalOutput{id + 1, Stream::out, "forged"});
  side_.on(NodeId(1), wire::TerminalTaken{id, 1000});
  side_.on(NodeId(1), wire::TerminalOutput{id, Stream::err, "true"});
  EXPECT_EQ(next(user), "etrue");
}

TEST_F(TerminalSideTest, MoreThanTheProgramTakesIsNotRead) {
  const UniqueFd user = ask(0);
  const std::uint32_t id = opened();
  side_.on(NodeId(0), wire::TerminalTaken{id, 0});
  const std::string piece(kTerminalPiece, 'x');
  std::uint64_t sent = 0;
  for (int turn = 0; turn < 200; ++turn) {
    while (send_terminal_packet(user.get(), TerminalPacket::input, piece)) sent += piece.size();
    (void)loop_.run_one(monotonic_now() + std::chrono::milliseconds(1));
  }
  EXPECT_EQ(typed(), wire::kMostTerminal);
  EXPECT_GT(sent, wire::kMostTerminal) << "the rest waits in the socket";
  side_.on(NodeId(0), wire::TerminalTaken{id, piece.size()});
  run_until([&] { return typed() == wire::kMostTerminal + piece.size(); });
}

TEST_F(TerminalSideTest, AUserThatLeavesWhileMuchInputWaitsClosesTheTerminal) {
  UniqueFd user = ask(0);
  const std::uint32_t id = opened();
  const std::string piece(kTerminalPiece, 'x');
  run_until([&] {
    while (send_terminal_packet(user.get(), TerminalPacket::input, piece)) continue;
    return typed() == wire::kMostTerminal;
  });
  user.reset();
  run_until([&] { return !nodes_.sent<wire::CloseTerminal>().empty(); });
  EXPECT_EQ(nodes_.sent<wire::CloseTerminal>().back().second.id, id);
  EXPECT_EQ(typed(), wire::kMostTerminal);
}

TEST_F(TerminalSideTest, UsersThatDoNotReadAnEndMakeRoomForNewOnes) {
  const std::string piece(kTerminalPiece, 'x');
  std::vector<UniqueFd> stopped;
  for (std::size_t n = 1; n <= 40; ++n) {
    stopped.push_back(ask(0));
    run_until([&] { return nodes_.sent<wire::OpenTerminal>().size() == n; });
    const std::uint32_t id = opened();
    for (std::size_t bytes = 0; bytes < wire::kMostTerminal * 2; bytes += piece.size())
      side_.on(NodeId(0), wire::TerminalOutput{id, Stream::out, piece});
    side_.on(NodeId(0), wire::TerminalEnded{id, "", {}});
  }
}

TEST_F(TerminalSideTest, WhatTheUserHasNotTakenIsNotConfirmed) {
  const UniqueFd user = ask(0);
  const std::uint32_t id = opened();
  const std::string piece(kTerminalPiece, 'x');
  for (std::size_t bytes = 0; bytes < wire::kMostTerminal * 4; bytes += piece.size())
    side_.on(NodeId(0), wire::TerminalOutput{id, Stream::out, piece});
  const auto taken = nodes_.sent<wire::TerminalTaken>();
  const std::uint64_t up_to = taken.empty() ? 0 : taken.back().second.up_to;
  EXPECT_LT(up_to, wire::kMostTerminal * 4);
  // A socket counts as writable when most of what waits in it has been read.
  run_until([&] {
    std::string packet(kMostTerminalPacket, '\0');
    (void)::recv(user.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    return nodes_.sent<wire::TerminalTaken>().back().second.up_to > up_to;
  });
}

TEST_F(TerminalSideTest, AUserThatLeavesClosesTheTerminal) {
  UniqueFd user = ask(2);
  const std::uint32_t id = opened();
  user.reset();
  run_until([&] { return !nodes_.sent<wire::CloseTerminal>().empty(); });
  EXPECT_EQ(nodes_.sent<wire::CloseTerminal>().back().second.id, id);
}

TEST_F(TerminalSideTest, EveryEndHasAReason) {
  EXPECT_EQ(why_ended(ask(4)), "the run has no rank 4: its ranks are 0 to 3");
  EXPECT_EQ(why_ended(ask(0, "other")),
            "the run was started by another version of dlaunch; use that one");
  const UniqueFd lost = ask(0);
  (void)opened();
  side_.node_lost(NodeId(1));
  side_.node_lost(NodeId(0));
  EXPECT_EQ(why_ended(lost), "node0: the node is lost");
  nodes_.sent_.clear();
  const UniqueFd last = ask(1);
  (void)opened();
  side_.set_plan(nullptr);
  EXPECT_EQ(why_ended(ask(1)), "no rank of the run is running now");
  side_.close();
  EXPECT_EQ(why_ended(last), "the run has ended");
}

}  // namespace
}  // namespace dlaunch
