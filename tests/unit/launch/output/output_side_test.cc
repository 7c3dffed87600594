// The output side with nodes that only record: the requests to them, and what is shown.
#include "launch/output/output_side.h"

#include <gmock/gmock.h>

#include "../engine/side_fixture.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

class OutputSideTest : public SideTest {
 protected:
  OutputSideTest() {
    options_.spec.logs.prefix = Logs::Prefix::never;
    output_.emplace(loop_, options_, nodes_, store_, *console_, *router_, *screen_);
  }
  void begin() {
    output_->begin(plan_);
    StartSettings settings;
    output_->start(settings);
    EXPECT_GT(settings.output_credit, 0U);
  }
  void data(std::uint32_t rank, std::uint64_t offset, std::string_view bytes) {
    output_->on(node(rank / 2), {Attempt(0), Rank(rank), Stream::out, offset, bytes});
  }
  void end(std::uint32_t rank, std::uint64_t size, std::uint64_t lost = 0) {
    output_->on(node(rank / 2), wire::OutputEnd{Attempt(0), Rank(rank), Stream::out, size, lost});
    output_->on(node(rank / 2), wire::OutputEnd{Attempt(0), Rank(rank), Stream::err, 0, 0});
  }
  void started(std::uint32_t rank) {
    output_->tell(event::RankStarted{Attempt(0), Rank(rank), 1, WallTime()});
  }
  void empty(std::uint32_t place) { output_->tell(event::NodeEmpty{Attempt(0), node(place), 0}); }

  LaunchPlan plan_ = make_plan();
  std::optional<OutputSide> output_;
};

TEST_F(OutputSideTest, WhatARankPrintsIsShownAndThatOfOtherNodesIsInTheRunFolder) {
  begin();
  started(2);
  data(2, 0, "step 1\n");
  EXPECT_EQ(shown(), "step 1\n");
  EXPECT_EQ(file("attempt-0/rank-2.out"), "step 1\n");
  data(0, 0, "local\n");  // its agent writes the file itself
  EXPECT_EQ(shown(), "local\n");
  EXPECT_EQ(file("attempt-0/rank-0.out"), "");
}

TEST_F(OutputSideTest, OutputMayComeBeforeTheStartOfItsRankIsTold) {
  begin();
  data(2, 0, "short");
  end(2, 5);
  started(2);
  empty(1);
  EXPECT_TRUE(output_->is_out()) << "an end that was received is not waited for";
  EXPECT_EQ(shown(), "short");
  EXPECT_EQ(nodes_.sent<wire::ForgetOutput>().size(), 1U);
}

TEST_F(OutputSideTest, ARankThatHasStartedIsWaitedForUntilItsStreamsEnd) {
  begin();
  EXPECT_TRUE(output_->is_out());
  started(0);
  EXPECT_FALSE(output_->is_out());
  end(0, 0);
  EXPECT_TRUE(output_->is_out());
}

TEST_F(OutputSideTest, ANodeSpeaksForItsOwnRanksAndThisAttemptOnly) {
  begin();
  output_->on(node(1), wire::OutputData{Attempt(0), Rank(0), Stream::out, 0, "forged\n"});
  output_->on(node(0), wire::OutputData{Attempt(7), Rank(0), Stream::out, 0, "late\n"});
  output_->on(node(0), wire::OutputData{Attempt(0), Rank(99), Stream::out, 0, "no rank\n"});
  EXPECT_EQ(shown(), "");
}

TEST_F(OutputSideTest, TheErrorFileOfAFailedRankIsFetchedOnceItsNodeIsEmpty) {
  begin();
  for (const std::uint32_t rank : {2U, 3U}) {
    started(rank);
    end(rank, 0);
  }
  output_->tell(exited(2, 1));
  EXPECT_TRUE(nodes_.sent<wire::FetchOutput>().empty());
  empty(1);
  const auto fetches = nodes_.sent<wire::FetchOutput>();
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].first, node(1));
  EXPECT_EQ(fetches[0].second.part, wire::OutputPart::error_file);
  EXPECT_FALSE(output_->is_out());
  output_->on(node(1),
              wire::FetchedOutput{Attempt(0), Rank(2), wire::OutputPart::error_file, 0, "{}"});
  output_->on(node(1),
              wire::FetchedOutput{Attempt(0), Rank(2), wire::OutputPart::error_file, 2, ""});
  EXPECT_TRUE(output_->is_out());
  EXPECT_EQ(file("attempt-0/rank-2.error.json"), "{}");
}

TEST_F(OutputSideTest, ALostNodeIsNotWaitedFor) {
  begin();
  started(4);
  data(4, 0, "first\n");
  output_->tell(event::NodeLost{node(2), "gone"});
  EXPECT_TRUE(output_->is_out());
  output_->finish({});
  EXPECT_THAT(shown(), HasSubstr("ranks 4, 5 printed after the last sign of life from node2"));
}

TEST_F(OutputSideTest, TheNextAttemptWaitsForTheOutputOfThisOne) {
  begin();
  started(0);
  int asked = 0;
  for (int i = 0; i < 2; ++i) output_->when_out([&] { ++asked; });
  loop_.poll();
  EXPECT_EQ(asked, 0);
  end(0, 0);
  ASSERT_TRUE(wait_for([&] { return asked == 2; }));
}

TEST_F(OutputSideTest, OutputThatTheNodeCouldNotStoreIsSaidOnce) {
  begin();
  started(0);
  end(0, 100, 40);
  output_->finish({});
  const std::string text = shown();
  EXPECT_THAT(text, HasSubstr("40 bytes"));
  EXPECT_EQ(text.find("40 bytes"), text.rfind("40 bytes"));
}

TEST_F(OutputSideTest, ACancelAtTheEndLeavesOnTheNodesWhatIsThere) {
  begin();
  started(2);
  end(2, 100);  // none of it was received
  empty(1);
  ASSERT_EQ(nodes_.sent<wire::FetchOutput>().size(), 1U);
  output_->tell(event::CancelSignal{2});  // before the end it has no effect here
  loop_.post([this] { output_->tell(event::CancelSignal{2}); });
  const MonotonicTime began = monotonic_now();
  output_->finish({});
  EXPECT_LT(monotonic_now() - began, std::chrono::seconds(8)) << "a node may take longer";
  EXPECT_THAT(shown(), HasSubstr("/there/1"));
}

}  // namespace
}  // namespace dlaunch
