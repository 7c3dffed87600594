#include "launch/questions/question_side.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../launch/run_socket_fixture.h"
#include "launch/questions/question_socket.h"
#include "os/build_id.h"
#include "os/clock.h"
#include "stack_builder.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

class QuestionSideTest : public RunSocketTest {
 protected:
  QuestionSideTest() : rounds_(loop_, nodes_), side_(loop_, rounds_, answers()) {
    EXPECT_TRUE(side_.open(run_.path));
    rounds_.set_plan(&plan_);
    side_.set_plan(&plan_);
  }
  ~QuestionSideTest() override { side_.close(); }

  QuestionSide::Answers answers() {
    return {[this] { return status_; },
            [this](const StopQuestion& question) -> Result<StopReply> {
              stops_.push_back(question);
              if (question.checkpoint) return fail(exit_code::kUsage, "no checkpoint.path");
              return StopReply{30'000};
            }};
  }

  Result<RunConnection> connect() {
    auto socket = connect_to_run(run_, kQuestionSocket, SOCK_STREAM);
    if (!socket) return tl::unexpected(socket.error());
    return RunConnection{run_.id, run_.path, *std::move(socket)};
  }
  Result<StacksReply> ask_for_stacks(const StacksQuestion& question,
                                     std::chrono::milliseconds limit) {
    auto run = connect();
    if (!run) return tl::unexpected(run.error());
    return ask_run<StacksReply>(*std::move(run), question, limit);
  }

  /// Asks, and lets `answer` play the nodes once they were asked.
  template <class Answer>
  Result<StacksReply> ask(const std::string& ranks, const Answer& answer) {
    Result<StacksReply> reply;
    std::atomic<bool> is_done = false;
    std::thread asker([&] {
      reply = ask_for_stacks({own_build_id(), ranks, "/opt/bin"}, std::chrono::seconds(10));
      is_done = true;
    });
    bool has_answered = false;
    run_until([&] {
      if (!has_answered && !nodes_.sent_.empty()) {
        has_answered = true;
        answer();
      }
      return is_done.load();
    });
    asker.join();
    return reply;
  }

  wire::StacksTaken taken(std::vector<std::uint32_t> ranks) {
    const auto asked = nodes_.sent<wire::TakeStacks>();
    wire::StacksTaken answer{Attempt(3), asked.empty() ? 0 : asked.back().second.id, "", {}};
    for (const std::uint32_t rank : ranks) answer.ranks.push_back(standing(rank, "forged", {}));
    return answer;
  }
  void say(std::uint32_t node, wire::StacksTaken answer) { rounds_.on(NodeId(node), answer); }

  StackRounds rounds_;
  StatusReply status_;
  std::vector<StopQuestion> stops_;
  QuestionSide side_;
};

TEST_F(QuestionSideTest, AllNodesAreAskedAtOnceAndTheirAnswersAreOne) {
  const auto reply = ask("", [this] {
    const auto asked = nodes_.sent<wire::TakeStacks>();
    ASSERT_EQ(asked.size(), 2U);
    EXPECT_EQ(asked[0].second.ranks, (std::vector{Rank(0), Rank(1)}));
    EXPECT_EQ(asked[1].second.ranks, (std::vector{Rank(2), Rank(3)}));
    EXPECT_EQ(asked[0].second.attempt, Attempt(3));
    EXPECT_EQ(asked[0].second.path, "/opt/bin");
    say(1, taken({3, 2}));
    say(0, taken({0, 1}));
  });
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->ranks.size(), 4U);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(reply->ranks[rank].rank, Rank(rank));
    EXPECT_EQ(reply->ranks[rank].host, rank < 2 ? "node0" : "node1");
  }
  EXPECT_EQ(reply->world, 4U);
  EXPECT_EQ(reply->attempt, 3U);
  EXPECT_TRUE(reply->silent.empty());
}

TEST_F(QuestionSideTest, OnlyNodesOfTheRanksAreAsked) {
  const auto reply = ask("3", [this] {
    EXPECT_EQ(nodes_.sent<wire::TakeStacks>().size(), 1U);
    say(1, taken({3}));
  });
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->ranks.size(), 1U);
}

TEST_F(QuestionSideTest, AnAgentSpeaksForItsOwnRanksOnlyAndOnce) {
  const auto reply = ask("", [this] {
    say(0, taken({0, 1, 1, 2, 77}));
    say(0, taken({0, 1}));
    wire::StacksTaken old = taken({2, 3});
    --old.id;
    say(1, old);
    say(1, taken({2}));
  });
  ASSERT_TRUE(reply);
  std::vector<Rank> ranks;
  for (const RankStacks& rank : reply->ranks) ranks.push_back(rank.rank);
  EXPECT_EQ(ranks, (std::vector{Rank(0), Rank(1), Rank(2)}));
}

TEST_F(QuestionSideTest, NodesThatDoNotAnswerAreNamed) {
  const auto reply = ask("", [this] {
    rounds_.node_lost(NodeId(0));
    wire::StacksTaken failed = taken({});
    failed.problem = "reading the stacks took longer than 5000 ms";
    say(1, failed);
  });
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->silent,
              testing::ElementsAre("node0: the node is lost",
                                   "node1: reading the stacks took longer than 5000 ms"));
}

TEST_F(QuestionSideTest, WithoutRunningRanksAndForRanksThatAreNotThereItSaysSo) {
  const auto wrong = ask("9", [] {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().exit_code, exit_code::kUsage);
  side_.set_plan(nullptr);
  const auto early = ask("", [] {});
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message, HasSubstr("no rank of the run is running now"));
}

TEST_F(QuestionSideTest, TheStateOfTheRunIsToldWhileStacksAreAwaited) {
  status_.state = "running";
  auto run = connect();
  ASSERT_TRUE(run);
  QuestionLine line(*std::move(run));
  const auto answer = [&](QuestionLine& from) {
    std::optional<Result<Reply>> reply;
    run_until([&] { return (reply = from.receive()).has_value(); });
    return *reply;
  };
  QuestionLine other(*connect());
  other.ask(StacksQuestion{own_build_id(), "0", ""});
  for (int i = 0; i < 2; ++i) {  // one connection carries many questions
    line.ask(StatusQuestion{own_build_id()});
    const auto reply = answer(line);
    ASSERT_TRUE(reply);
    EXPECT_EQ(std::get<StatusReply>(*reply), status_);
  }
  EXPECT_FALSE(other.receive());
  say(0, taken({0}));
  const auto stacks = answer(other);
  ASSERT_TRUE(stacks);
  EXPECT_EQ(std::get<StacksReply>(*stacks).ranks.size(), 1U);
}

TEST_F(QuestionSideTest, AStopIsPassedOnAndAnswered) {
  QuestionLine line(*connect());
  std::optional<Result<Reply>> reply;
  line.ask(StopQuestion{own_build_id(), true, false});
  run_until([&] { return (reply = line.receive()).has_value(); });
  ASSERT_TRUE(*reply);
  EXPECT_EQ(std::get<StopReply>(**reply).limit_ms, 30'000U);
  line.ask(StopQuestion{own_build_id(), false, true});
  run_until([&] { return (reply = line.receive()).has_value(); });
  ASSERT_FALSE(*reply);
  EXPECT_EQ(reply->error().exit_code, exit_code::kUsage);
  EXPECT_THAT(reply->error().message, HasSubstr("no checkpoint.path"));
  EXPECT_EQ(stops_, (std::vector{StopQuestion{own_build_id(), true, false},
                                 StopQuestion{own_build_id(), false, true}}));
}

// It sends a signal instead; the two together would kill at once.
TEST_F(QuestionSideTest, AStopOfOneThatHasHungUpIsNone) {
  { QuestionLine(*connect()).ask(StopQuestion{own_build_id(), false, false}); }
  QuestionLine after(*connect());
  after.ask(StatusQuestion{own_build_id()});
  run_until([&] { return after.receive().has_value(); });
  EXPECT_TRUE(stops_.empty());
}

TEST_F(QuestionSideTest, AnotherVersionIsToldSo) {
  auto run = connect();
  ASSERT_TRUE(run);
  QuestionLine line(*std::move(run));
  line.ask(StatusQuestion{"another"});
  std::optional<Result<Reply>> reply;
  run_until([&] { return (reply = line.receive()).has_value(); });
  ASSERT_FALSE(*reply);
  EXPECT_THAT(reply->error().message, HasSubstr("another version"));
}

TEST_F(QuestionSideTest, TheSocketIsItsUsersAloneAndGoneAfterwards) {
  struct stat info {};
  const std::string path = run_.path + "/" + kQuestionSocket;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  side_.close();
  EXPECT_NE(::stat(path.c_str(), &info), 0);
  const auto reply = ask_for_stacks({}, std::chrono::seconds(1));
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("takes no questions"));
}

TEST_F(QuestionSideTest, AStoppedEngineIsATimeLimit) {
  const auto reply = ask_for_stacks({}, std::chrono::milliseconds(50));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().exit_code, exit_code::kTimeLimit);
  EXPECT_THAT(reply.error().message, HasSubstr("did not answer within"));
}

TEST_F(QuestionSideTest, ARunThatHasEndedIsNotAsked) {
  run_.state = RunState::done;
  const auto reply = ask_for_stacks({}, std::chrono::seconds(1));
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message, HasSubstr("has already ended"));
}

}  // namespace
}  // namespace dlaunch
