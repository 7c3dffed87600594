#include "plan/reach.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "fake_cluster.h"

namespace dlaunch {
namespace {

using State = ReachRecord::State;

Cluster named_nodes(std::size_t nodes) {
  Cluster cluster = test::fake_cluster(std::vector<test::NodeShape>(nodes));
  return cluster;
}

std::vector<Candidate> two_candidates(std::size_t nodes) {
  return {{"10.0.0.4", "eth0, the fastest subnet", true, true,
           std::vector<NodeRoute>(nodes, {"eth0", "10.0.0.9"})},
          {"10.1.0.4", "eth1, a subnet", true, true,
           std::vector<NodeRoute>(nodes, {"eth1", "10.1.0.9"})}};
}

ReachResult ok(const std::string& interface = "") {
  return {0, 100, {interface, interface.empty() ? "" : "10.9.9.9"}};
}
ReachResult bad(int error) {
  return {error, 0, {}};
}

TEST(Reach, TheBestThatAllHaveReached) {
  ReachRecord record(2, 3);
  EXPECT_EQ(record.state(), State::open);
  record.add(1, 0, ok());
  record.add(1, 1, ok());
  record.add(2, 1, ok());
  // All have reached the second, and none has failed at the first.
  EXPECT_EQ(record.state(), State::likely);
  EXPECT_EQ(record.reached(), 1U);
  record.add(2, 0, ok());
  EXPECT_EQ(record.state(), State::settled);
  EXPECT_EQ(record.reached(), 0U);
}

TEST(Reach, AFailureOfTheBetterOneSettlesIt) {
  ReachRecord record(2, 3);
  record.add(1, 1, ok());
  record.add(2, 1, ok());
  EXPECT_EQ(record.state(), State::likely);
  record.add(2, 0, bad(EHOSTUNREACH));
  EXPECT_EQ(record.state(), State::settled);
  EXPECT_EQ(record.reached(), 1U);
}

TEST(Reach, WhoReachesNothingIsNamed) {
  ReachRecord record(2, 4);
  for (const std::size_t node : {1U, 2U, 3U}) {
    record.add(node, 0, bad(EHOSTUNREACH));
    record.add(node, 1, node == 2 ? bad(ECONNREFUSED) : ok());
  }
  EXPECT_THAT(who_fails_to_meet(record), testing::ElementsAre(2));
}

TEST(Reach, WhereMostReachNothingItIsNodeZero) {
  ReachRecord record(1, 4);
  record.add(1, 0, ok());
  record.add(2, 0, bad(ETIMEDOUT));
  record.end();  // the third has not answered
  EXPECT_THAT(who_fails_to_meet(record), testing::ElementsAre(0));
}

TEST(Reach, OfTwoNodesAndOfClosedDoorsNobodyIsNamed) {
  ReachRecord two(1, 2);
  two.add(1, 0, bad(ETIMEDOUT));
  EXPECT_THAT(who_fails_to_meet(two), testing::IsEmpty());
  ReachRecord closed(1, 4);
  closed.not_open(0, EADDRINUSE);
  EXPECT_THAT(who_fails_to_meet(closed), testing::IsEmpty());
}

TEST(Reach, NothingIsReached) {
  ReachRecord record(2, 3);
  record.add(1, 0, bad(ECONNREFUSED));
  EXPECT_EQ(record.state(), State::open);
  record.add(2, 1, bad(ECONNREFUSED));
  EXPECT_EQ(record.state(), State::hopeless);
  record.add(1, 1, ok());
  EXPECT_EQ(record.state(), State::hopeless);
  record.end();
  EXPECT_EQ(record.state(), State::failed);
  EXPECT_EQ(record.result(2, 0)->error, ETIMEDOUT);
  EXPECT_EQ(record.reached(), std::nullopt);
}

TEST(Reach, WhatNodeZeroCannotOpenCountsAsFailed) {
  ReachRecord record(2, 2);
  record.not_open(0, EADDRNOTAVAIL);
  record.add(1, 1, ok());
  EXPECT_EQ(record.state(), State::settled);
  record.not_open(1, EACCES);
  EXPECT_EQ(record.state(), State::failed);
}

TEST(Reach, OddResultsAreIgnored) {
  ReachRecord record(1, 2);
  record.add(0, 0, ok());
  record.add(2, 0, ok());
  record.add(1, 1, ok());
  EXPECT_EQ(record.state(), State::open);
  record.add(1, 0, bad(ECONNREFUSED));
  record.add(1, 0, ok());  // already reported
  EXPECT_EQ(record.state(), State::failed);
}

TEST(Reach, TheMeetingNamesWhatWasBetterAndUsesTheConnectionsInterface) {
  ReachRecord record(2, 3);
  record.add(1, 0, bad(ETIMEDOUT));
  record.add(2, 0, ok());
  record.add(1, 1, ok("ens7"));
  record.add(2, 1, ok());
  const Meeting meeting = meeting_at(1, two_candidates(3), record, named_nodes(3), false);
  EXPECT_EQ(meeting.address, "10.1.0.4");
  EXPECT_EQ(meeting.reason, "eth1, a subnet; 10.0.0.4: not reached by node1 (timed out)");
  EXPECT_THAT(meeting.routes,
              testing::ElementsAre(NodeRoute{"eth1", "10.1.0.9"}, NodeRoute{"ens7", "10.9.9.9"},
                                   NodeRoute{"eth1", "10.1.0.9"}));
  const Meeting chosen = meeting_at(1, two_candidates(3), record, named_nodes(3), true);
  EXPECT_EQ(chosen.routes[1], (NodeRoute{"eth1", "10.1.0.9"}));
}

TEST(Reach, TheErrorGroupsNodesByReason) {
  ReachRecord record(2, 5);
  record.not_open(1, EADDRNOTAVAIL);
  record.add(1, 0, bad(ETIMEDOUT));
  record.add(2, 0, bad(EHOSTUNREACH));
  record.add(3, 0, bad(ETIMEDOUT));
  record.add(4, 0, bad(EPROTO));
  const Error error = unreachable(two_candidates(5), record, named_nodes(5), 21000);
  EXPECT_EQ(error.exit_code, exit_code::kPreflight);
  EXPECT_EQ(error.message,
            "no address of node0 is reached by all other nodes on port 21000\n"
            "         10.0.0.4 (eth0): not reached by node1, node3 (timed out), node2 (No route to "
            "host), node4 (something else answered there)\n"
            "         10.1.0.4 (eth1): node0 cannot listen there: Cannot assign requested address\n"
            "         try: allow these connections in the firewall, or another network: --set "
            "rendezvous.interface=NAME");
}

TEST(Reach, HundredsOfNodesAreCounted) {
  ReachRecord record(1, 501);
  record.end();
  const Error error = unreachable({two_candidates(501)[0]}, record, named_nodes(501), 21000);
  EXPECT_THAT(error.message, testing::HasSubstr("node7, node8 and 492 more (timed out)"));
}

}  // namespace
}  // namespace dlaunch
