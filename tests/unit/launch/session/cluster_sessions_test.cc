// The sessions of a cluster whose agents are scripted: the other ends of socket pairs.
#include "launch/session/cluster_sessions.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/build_id.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/signals.h"
#include "plan/make_plan.h"

namespace dlaunch {
namespace {

constexpr std::uint64_t kSession = 77;

class ClusterSessionsTest : public testing::Test {
 protected:
  ClusterSessionsTest() { block_signals({SIGPIPE}); }

  /// Its session begins with the cluster's, like that of a forked agent.
  void add_agent(const std::string& name) {
    auto ends = *make_socket_pair(SOCK_STREAM);
    NodeTarget& target = start_.targets.emplace_back();
    target.host.name = name;
    start_.forked.emplace_back(Connection{duplicate(ends.first.get()), std::move(ends.first)});
    const auto node = static_cast<std::uint32_t>(agents_.size());
    agents_.push_back(std::make_unique<AgentChannel>(loop_, duplicate(ends.second.get()),
                                                     std::move(ends.second), node, kSession));
    agents_.back()->start({[this, node](const wire::ToAgent& message) {
                             if (const auto* request = std::get_if<wire::FactsRequest>(&message))
                               requests_.emplace_back(node, request->attempt);
                           },
                           [](const std::string&) {}});
  }
  void begin() {
    start_.session = kSession;
    sessions_.emplace(loop_, spec_, std::move(start_),
                      NodeListener{[this](NodeId node, wire::FromAgent message) {
                                     messages_.emplace_back(node, std::move(message));
                                   },
                                   [this](NodeId node, const NodeNews& news) {
                                     if (std::holds_alternative<event::NodeLost>(news))
                                       lost_.push_back(node);
                                   }});
  }
  template <class Condition>
  bool wait_for(Condition condition) {
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
    while (!condition() && loop_.run_one(limit)) {
    }
    return condition();
  }

  EventLoop loop_;
  JobSpec spec_;
  LocalStart start_;
  std::vector<std::unique_ptr<AgentChannel>> agents_;
  std::vector<std::pair<std::uint32_t, Attempt>> requests_;
  std::vector<std::pair<NodeId, wire::FromAgent>> messages_;
  std::vector<NodeId> lost_;
  std::optional<ClusterSessions> sessions_;
};

TEST_F(ClusterSessionsTest, FactsAreInTheClusterWhenTheirMessageComes) {
  add_agent("gpu01");
  add_agent("gpu02");
  begin();
  sessions_->connect(NodeId(1));
  ASSERT_TRUE(wait_for([this] { return !requests_.empty(); }));
  wire::Facts facts;
  facts.facts.hostname = "gpu02.cluster";
  agents_[1]->send(facts);
  ASSERT_TRUE(wait_for([this] { return !messages_.empty(); }));
  EXPECT_EQ(messages_[0].first, NodeId(1));
  EXPECT_EQ(sessions_->cluster().nodes[1].facts.hostname, "gpu02.cluster");
  EXPECT_EQ(sessions_->cluster().nodes[0].facts.hostname, "");
}

TEST_F(ClusterSessionsTest, EachMessageComesWithTheNodeThatSaidIt) {
  add_agent("gpu01");
  add_agent("gpu02");
  begin();
  for (const std::uint32_t node : {0U, 1U}) sessions_->connect(NodeId(node));
  agents_[1]->send(wire::AttemptEnded{Attempt(0), 3});
  agents_[0]->send(wire::AttemptEnded{Attempt(0), 4});
  ASSERT_TRUE(wait_for([this] { return messages_.size() == 2; }));
  for (const auto& [node, message] : messages_)
    EXPECT_EQ(std::get<wire::AttemptEnded>(message).leftovers, node == NodeId(0) ? 4U : 3U);
}

TEST_F(ClusterSessionsTest, GatherAsksForTheFactsOfALaterAttempt) {
  add_agent("gpu01");
  begin();
  sessions_->connect(NodeId(0));
  sessions_->gather(NodeId(0), Attempt(5));
  ASSERT_TRUE(wait_for([this] { return requests_.size() == 2; }));
  EXPECT_EQ(requests_[1].second, Attempt(5));
}

TEST_F(ClusterSessionsTest, ALostNodeIsToldOnceAndTheOthersGoOn) {
  add_agent("gpu01");
  add_agent("gpu02");
  begin();
  for (const std::uint32_t node : {0U, 1U}) sessions_->connect(NodeId(node));
  agents_[0]->send(wire::Bye{});  // it was not told to exit
  ASSERT_TRUE(wait_for([this] { return !lost_.empty(); }));
  agents_[1]->send(wire::AttemptEnded{});
  ASSERT_TRUE(wait_for([this] { return !messages_.empty(); }));
  EXPECT_EQ(lost_, std::vector<NodeId>{NodeId(0)});
  EXPECT_EQ(messages_[0].first, NodeId(1));
  EXPECT_FALSE(sessions_->all_ended());
}

TEST_F(ClusterSessionsTest, ANodeThatIsTakenOutIsReleasedAndNotHeardAnyMore) {
  for (const char* name : {"gpu01", "gpu02", "gpu03"}) add_agent(name);
  begin();
  for (const std::uint32_t node : {0U, 1U, 2U}) sessions_->connect(NodeId(node));
  ASSERT_TRUE(wait_for([this] { return requests_.size() == 3; }));
  sessions_->remove(NodeId(1));
  agents_[1]->send(wire::AttemptEnded{});
  agents_[1]->send(wire::Bye{});
  agents_[2]->send(wire::AttemptEnded{});
  ASSERT_TRUE(wait_for([this] { return !messages_.empty(); }));
  loop_.poll();
  ASSERT_EQ(messages_.size(), 1U);
  EXPECT_EQ(messages_[0].first, NodeId(2)) << "the others keep their numbers";
  EXPECT_TRUE(lost_.empty());
  EXPECT_EQ(sessions_->clock(NodeId(1)), nullptr);
  sessions_->send(NodeId(1), wire::Bye{});  // to a node that is not in the set: nothing
}

TEST_F(ClusterSessionsTest, APlanNamesTheNodesOfTheSetThatThereIsThen) {
  for (const char* name : {"gpu01", "gpu02", "gpu03"}) add_agent(name);
  begin();
  sessions_->remove(NodeId(0));
  NodeTarget target;
  target.host.name = "spare01";
  EXPECT_EQ(sessions_->add(target), NodeId(3));
  sessions_->remove(NodeId(1));
  EXPECT_EQ(sessions_->add(target), NodeId(4)) << "no number is given twice";
  sessions_->remove(NodeId(4));
  spec_.command.argv = {"./train"};
  spec_.framework = Framework::none;
  spec_.processes_per_node = {ProcessesPerNode::Kind::count, 1};
  const auto plan = make_plan(spec_, sessions_->cluster(), {});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->nodes.size(), 2U);
  EXPECT_EQ(plan->nodes[0].id, NodeId(2));
  EXPECT_EQ(plan->nodes[1].id, NodeId(3));
  EXPECT_EQ(plan->nodes[1].name, "spare01");
  EXPECT_EQ(plan->node_of(Rank(1)), NodeId(3));
  EXPECT_EQ(plan->find(NodeId(3)), NodeRank(1));
  EXPECT_FALSE(plan->find(NodeId(0)));
}

TEST_F(ClusterSessionsTest, APositionIsKeptUntilRanksRunWithoutItsNode) {
  for (const char* name : {"gpu01", "gpu02"}) {
    add_agent(name);
    start_.targets.back().connector = find_connector("command");
  }
  spec_.nodes = NodeRange{1, 2};
  spec_.connect.via = Connect::Via::command;
  // It answers with the session that the command names.
  spec_.connect.command = {
      "/bin/sh", "-c", "s=${1#*dlaunch:}; echo \"@dlaunch:${s%%;*} ready\"; exec cat >&2", "node"};
  begin();
  for (const std::uint32_t node : {0U, 1U}) sessions_->connect(NodeId(node));
  const auto returns = [this](std::uint32_t attempt) {
    loop_.poll();  // its Bye is sent
    sessions_->connect(NodeId(0), Attempt(attempt));
    EXPECT_TRUE(wait_for([this] { return sessions_->clock(NodeId(0)) != nullptr; }));
    sessions_->gather(NodeId(0), Attempt(attempt));
    std::vector<std::uint32_t> order;
    for (const Node& node : sessions_->cluster().nodes) order.push_back(node.id.value);
    return order;
  };
  sessions_->remove(NodeId(0));
  EXPECT_EQ(returns(1), (std::vector<std::uint32_t>{0, 1}));
  sessions_->remove(NodeId(0));
  sessions_->set_ranks_run(true);
  sessions_->set_ranks_run(false);
  EXPECT_EQ(returns(2), (std::vector<std::uint32_t>{1, 0})) << "rank 0 has been on gpu02";
}

TEST_F(ClusterSessionsTest, ASpareIsReadyOnceItHasToldItsFacts) {
  for (const char* name : {"gpu01", "gpu02"}) add_agent(name);
  spec_.nodes = NodeRange{1, 1};
  spec_.spares = 1;
  begin();
  LaunchPlan plan;
  plan.nodes.emplace_back().id = NodeId(0);
  const auto state = [&] { return sessions_->spares(plan).at(0).state; };
  EXPECT_EQ(state(), "not connected");
  sessions_->connect(NodeId(1));
  wire::Hello hello;
  hello.build_id = own_build_id();
  agents_[1]->send(hello);
  ASSERT_TRUE(wait_for([&] { return state() != "not connected"; }));
  EXPECT_EQ(state(), "checking");
  agents_[1]->send(wire::Facts{});
  ASSERT_TRUE(wait_for([this] { return !messages_.empty(); }));
  EXPECT_EQ(state(), "ready");
  agents_[1]->send(wire::Bye{});
  ASSERT_TRUE(wait_for([this] { return !lost_.empty(); }));
  EXPECT_EQ(state(), "not connected");
}

TEST_F(ClusterSessionsTest, EndsWhenAllAgentsHaveLeft) {
  add_agent("gpu01");
  begin();
  sessions_->connect(NodeId(0));
  sessions_->release_all();
  EXPECT_FALSE(sessions_->all_ended());
  agents_[0]->send(wire::Bye{});
  ASSERT_TRUE(wait_for([this] { return sessions_->all_ended(); }));
  EXPECT_TRUE(lost_.empty());
}

}  // namespace
}  // namespace dlaunch
