#include "launch/session/start_message.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

LaunchPlan plan_of(std::uint32_t ranks) {
  LaunchPlan plan;
  plan.attempt = Attempt(2);
  plan.workdir = "/w";
  plan.commands = {{{"train"}, false}};
  plan.variables = {{"WORLD_SIZE", std::to_string(ranks), VariableSource::rank, ""},
                    {"A", "job", VariableSource::job_env, ""}};
  plan.scrubbed = {"PMI_*"};
  plan.nodes.resize(1);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    RankPlan rank;
    rank.rank = Rank(i);
    rank.local_rank = LocalRank(i);
    rank.variables = {{"RANK", std::to_string(i), VariableSource::rank, ""}};
    plan.nodes[0].ranks.push_back(rank.rank);
    plan.ranks.push_back(rank);
  }
  return plan;
}

TEST(StartMessage, CarriesEveryRankOnceAndMarksTheLastMessage) {
  const auto messages = start_messages(plan_of(150), NodeRank(0), {"/logs", {}, Rank(3), Rank(3), 4096});
  ASSERT_EQ(messages.size(), 3U);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].last, i + 1 == messages.size());
    EXPECT_EQ(messages[i].attempt, Attempt(2));
    for (const auto& rank : messages[i].ranks) {
      EXPECT_EQ(rank.rank, Rank(next));
      EXPECT_EQ(rank.env, (Environment{{"RANK", std::to_string(next)}}));
      EXPECT_EQ(rank.wants_stdin, next == 3);
      EXPECT_EQ(rank.terminal, next == 3);
      ++next;
    }
  }
  EXPECT_EQ(next, 150U);
}

TEST(StartMessage, TellsHowOftenToLookAndForWhichNumbers) {
  StartSettings settings;
  EXPECT_EQ(start_messages(plan_of(1), NodeRank(0), settings).front().pulse_ms, 0U);
  settings.pulse_interval = std::chrono::milliseconds(2);
  settings.metrics = {"loss ([0-9.]+)"};
  const auto message = start_messages(plan_of(1), NodeRank(0), settings).front();
  EXPECT_EQ(message.pulse_ms, 2U);
  EXPECT_EQ(message.metrics, settings.metrics);
}

TEST(StartMessage, FilesComeWithTheFirstMessage) {
  LaunchPlan plan = plan_of(70);
  plan.nodes[0].files = {{"/run/hostfile", "a slots=1\n"}};
  const auto messages = start_messages(plan, NodeRank(0), {"/logs"});
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].files, (std::vector<wire::StartFile>{{"/run/hostfile", "a slots=1\n"}}));
  EXPECT_TRUE(messages[1].files.empty()) << "they are there when the first rank starts";
}

TEST(StartMessage, PassedVariablesLoseAgainstTheJobsOwn) {
  const auto messages = start_messages(plan_of(1), NodeRank(0),
                                       {"/logs", {{"A", "outside"}, {"TOKEN", "s"}}});
  EXPECT_EQ(messages.front().env, (Environment{{"A", "job"}, {"TOKEN", "s"}, {"WORLD_SIZE", "1"}}));
}

TEST(StartMessage, OtherNodesStartFromTheirLoginEnvironment) {
  LaunchPlan plan = plan_of(1);
  plan.carried = {{"PATH", "/opt/bin"}};
  const StartSettings settings{"/logs"};
  const auto here = start_messages(plan, NodeRank(0), settings).front();
  EXPECT_EQ(here.carried, Environment{});
  EXPECT_EQ(here.defaults, Environment{}) << "what is kept here the plan has decided";
  EXPECT_EQ(here.log_folder, "/logs");
  plan.nodes[0].is_remote = true;
  const auto there = start_messages(plan, NodeRank(0), settings).front();
  EXPECT_EQ(there.carried, plan.carried);
  EXPECT_EQ(there.log_folder, "") << "the agent's own; the run folder is on another machine";
  EXPECT_EQ(there.env.at("PWD"), "/w");
  EXPECT_NE(std::find(there.scrub.begin(), there.scrub.end(), "SSH_CONNECTION"), there.scrub.end());
  EXPECT_EQ(there.scrub.front(), "PMI_*");
  // Variables that are kept if set yield to the login environment there, which only the node knows.
  plan.nodes[0].variables = {{"OMP_NUM_THREADS", "4", VariableSource::rank, "", true},
                             {"LOCAL_WORLD_SIZE", "1", VariableSource::rank, ""}};
  const auto soft = start_messages(plan, NodeRank(0), settings).front();
  EXPECT_EQ(soft.defaults, (Environment{{"OMP_NUM_THREADS", "4"}}));
  EXPECT_FALSE(soft.env.contains("OMP_NUM_THREADS"));
  EXPECT_EQ(soft.env.at("LOCAL_WORLD_SIZE"), "1");
  plan.variables.push_back({"PWD", "/mine", VariableSource::job_env, ""});
  EXPECT_EQ(start_messages(plan, NodeRank(0), settings).front().env.at("PWD"), "/mine");
}

TEST(StartMessage, SaysWhoseOutputIsShown) {
  const auto messages =
      start_messages(plan_of(3), NodeRank(0), {"/logs", {}, {}, {}, 4096, {true, false}});
  ASSERT_EQ(messages.front().ranks.size(), 3U);
  EXPECT_TRUE(messages.front().ranks[0].is_shown);
  EXPECT_FALSE(messages.front().ranks[1].is_shown);
  EXPECT_TRUE(messages.front().ranks[2].is_shown);
}

}  // namespace
}  // namespace dlaunch
