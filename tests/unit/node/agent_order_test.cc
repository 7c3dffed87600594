// What an agent is told at the wrong time does no harm, and with its session everything ends.
#include "agent_conversation.h"

namespace dlaunch {
namespace {

bool is_alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

/// What a launcher may say of an attempt whose ranks do not run.
void say_all_about(Conversation& agent, Attempt attempt, const std::vector<Rank>& ranks = {}) {
  agent.say(wire::StopRanks{attempt, SIGTERM, ranks});
  agent.say(wire::KillRanks{attempt, ranks});
  agent.say(wire::OutputCredit{attempt, Rank(9), Stream::out, 100});
}

TEST(AgentOrder, WhatComesBeforeAnAttemptChangesNothingInIt) {
  Conversation agent;
  agent.greet();
  say_all_about(agent, Attempt(0));
  agent.say(wire::SignalRanks{Attempt(0), SIGUSR1});
  agent.say(wire::StdinData{Attempt(0), "text"});
  agent.say(wire::StartMpirun{Attempt(0), {"true"}, {}});
  agent.say(wire::ForgetOutput{Attempt(0)});
  agent.say(two_ranks());
  EXPECT_GT(agent.start(agent.script("exit 4")), 0);
  const auto exited = agent.answer<wire::RankExited>();
  EXPECT_EQ(exited.status.value, 4);
  EXPECT_FALSE(exited.after_signal);
  EXPECT_FALSE(agent.has<wire::MpirunEnded>());
}

TEST(AgentOrder, WhatIsAboutAnotherAttemptOrAnUnknownRankLeavesTheRanksAlone) {
  Conversation agent;
  agent.greet();
  const pid_t pid = agent.start(agent.script(kForever));
  say_all_about(agent, Attempt(1));
  agent.say(wire::SignalRanks{Attempt(1), SIGUSR1});
  say_all_about(agent, Attempt(0), {Rank(99)});
  wire::StartRanks next = agent.script("exit 0");
  next.attempt = Attempt(1);
  agent.say(next);
  agent.say(wire::FetchOutput{Attempt(0), Rank(99), wire::OutputPart::out, 0, 100});
  EXPECT_EQ(agent.answer<wire::FetchedOutput>().bytes, "") << "each question has an answer";
  agent.settle();
  EXPECT_FALSE(agent.has<wire::RanksStarted>()) << "one attempt ends before the next";
  EXPECT_FALSE(agent.has<wire::RankExited>());
  EXPECT_TRUE(is_alive(pid));
}

TEST(AgentOrder, AStoppedAttemptStartsNoRankThatComesLater) {
  Conversation agent;
  agent.greet();
  wire::StartRanks first = agent.script(kForever);
  first.last = false;
  (void)agent.start(first);
  agent.say(wire::StopRanks{Attempt(0), SIGTERM});
  agent.say(agent.script(kForever, 1));
  EXPECT_TRUE(agent.answer<wire::RankExited>().after_signal);
  (void)agent.answer<wire::AttemptEnded>();
  agent.say(agent.script(kForever, 2));
  agent.settle();
  EXPECT_FALSE(agent.has<wire::RanksStarted>());
  wire::StartRanks next = agent.script("exit 0");
  next.attempt = Attempt(1);
  EXPECT_GT(agent.start(next), 0);
}

// ---- the end

TEST(AgentOrder, ByeEndsTheRanks) {
  Conversation agent;
  agent.greet();
  const pid_t pid = agent.start(agent.script(kForever));
  agent.say(wire::Bye{});
  (void)agent.answer<wire::Bye>();
  EXPECT_EQ(agent.end(), exit_code::kOk);
  EXPECT_FALSE(is_alive(pid));
}

TEST(AgentOrder, AnAgentThatStaysServesOneSessionAfterTheOther) {
  Conversation agent(60'000);
  agent.greet();
  for (const std::uint64_t session : {1001, 1002, 1003}) {
    const pid_t pid = agent.start(agent.script(kForever));
    EXPECT_TRUE(is_alive(pid));
    agent.begin_session(session);
    EXPECT_FALSE(is_alive(pid)) << "its ranks ended with their session";
  }
  agent.say(agent.script("exit 4"));
  EXPECT_EQ(agent.answer<wire::RankExited>().status.value, 4);
  agent.say(wire::Bye{});
  EXPECT_FALSE(agent.answer<wire::Bye>().stays);
  EXPECT_EQ(agent.end(), exit_code::kOk);
}

TEST(AgentOrder, AnAgentThatStaysEndsWithItsConnection) {
  Conversation agent(60'000);
  agent.greet();
  agent.say(wire::Bye{true});
  EXPECT_TRUE(agent.answer<wire::Bye>().stays);
  agent.hang_up();
  EXPECT_EQ(agent.end(), exit_code::kOk);
}

TEST(AgentOrder, ABrokenConnectionEndsTheRanks) {
  Conversation agent;
  agent.greet();
  const pid_t pid = agent.start(agent.script(kForever));
  agent.hang_up();
  EXPECT_EQ(agent.end(), exit_code::kNodeLost);
  EXPECT_FALSE(is_alive(pid));
}

TEST(AgentOrder, AMalformedFrameEndsTheSession) {
  Conversation agent;
  agent.greet();
  const pid_t pid = agent.start(agent.script(kForever));
  agent.say_bytes(std::string(64, '\xff'));
  EXPECT_EQ(agent.end(), exit_code::kNodeLost);
  EXPECT_FALSE(is_alive(pid));
}

// It is the launcher who tells the user, and for that it needs the agent's version.
TEST(AgentOrder, ALauncherOfAnotherProtocolHasAnAnswer) {
  Conversation agent;
  agent.say(wire::Hello{.protocol = wire::kProtocolVersion + 1});
  EXPECT_EQ(agent.answer<wire::Hello>().protocol, wire::kProtocolVersion);
}

TEST(AgentOrder, ALauncherThatDoesNotGreetIsNotWaitedFor) {
  Conversation agent(50);
  EXPECT_EQ(agent.end(), exit_code::kNodeLost);
}

}  // namespace
}  // namespace dlaunch
