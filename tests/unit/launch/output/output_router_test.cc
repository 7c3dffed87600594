// OutputRouter with a pipe as the console.
#include "launch/output/output_router.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

class OutputRouterTest : public testing::Test {
 protected:
  OutputRouterTest() {
    block_signals({SIGPIPE});
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reader_.reset(ends[0]);
    writer_end_.reset(ends[1]);
    writer_ = std::make_unique<ConsoleWriter>(writer_end_.get(), writer_end_.get());
    router_ = std::make_unique<OutputRouter>(
        loop_, *writer_, [this](const wire::OutputCredit& credit) { grants_.push_back(credit); });
  }

  void begin(std::vector<std::string> labels, std::vector<bool> followed = {},
             bool merged = false) {
    OutputRouter::Settings settings;
    settings.console.merged = merged;
    settings.console.prefix = true;
    settings.folder = "runs/x/attempt-0";
    const std::size_t ranks = labels.size();
    settings.labels = std::move(labels);
    settings.followed = std::move(followed);
    router_->begin(std::move(settings));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) router_->expect(Rank(rank));
  }
  void add(std::uint64_t offset, std::string_view bytes) {
    router_->add({Attempt(0), Rank(0), Stream::out, offset, bytes});
  }
  void end(std::uint64_t size) { router_->end({Attempt(0), Rank(0), Stream::out, size, 0}); }
  std::string shown() {
    EXPECT_TRUE(writer_->drain(std::chrono::seconds(20)));
    std::string text(65536, '\0');
    const ssize_t n = ::read(reader_.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }

  EventLoop loop_;
  UniqueFd reader_;
  UniqueFd writer_end_;
  std::unique_ptr<ConsoleWriter> writer_;
  std::unique_ptr<OutputRouter> router_;
  std::vector<wire::OutputCredit> grants_;
};

TEST_F(OutputRouterTest, GivesCreditWhenHalfOfItIsUsed) {
  begin({"a:0"});
  const std::uint64_t window = router_->first_credit();
  ASSERT_GT(window, 1000U);
  add(0, "one\n");
  EXPECT_TRUE(grants_.empty());
  add(4, std::string(window / 2, 'x'));
  ASSERT_EQ(grants_.size(), 1U);
  EXPECT_EQ(grants_[0].up_to, 4 + window / 2 + window);
  EXPECT_EQ(grants_[0].keep_last, ~std::uint64_t{0});
}

TEST_F(OutputRouterTest, NothingIsWantedOfRanksThatAreNotShown) {
  begin({"", "a:1"});
  EXPECT_EQ(router_->passing(), (std::vector<bool>{false, true}));
  begin({"", ""});
  EXPECT_EQ(router_->first_credit(), 0U);
}

TEST_F(OutputRouterTest, WhatIsFollowedPassesAndIsNotShown) {
  begin({"", ""}, {true, false});
  EXPECT_EQ(router_->passing(), (std::vector<bool>{true, false}));
  const std::uint64_t window = router_->first_credit();
  ASSERT_GT(window, 0U);
  add(0, std::string(window, 'x'));
  ASSERT_EQ(grants_.size(), 1U);
  EXPECT_EQ(grants_[0].up_to, 2 * window);
  end(window);
  router_->say(Stream::out, "the only line\n");
  EXPECT_EQ(shown(), "the only line\n");
}

TEST_F(OutputRouterTest, OfWhatPassesAllIsKnownWhileThereIsCredit) {
  begin({"a:0", ""});
  EXPECT_TRUE(router_->has_all_known(Rank(0), Stream::out)) << "it has written nothing";
  EXPECT_FALSE(router_->has_all_known(Rank(1), Stream::out)) << "it is not shown";
  EXPECT_FALSE(router_->has_all_known(Rank(2), Stream::out)) << "there is none";
  add(0, "one\n");
  router_->give_up(Rank(0));
  EXPECT_TRUE(router_->has_all_known(Rank(0), Stream::out));
  begin({"a:0"});
  router_->skip_rest(Stream::out);
  EXPECT_FALSE(router_->has_all_known(Rank(0), Stream::out)) << "it was told to send no more";
}

TEST_F(OutputRouterTest, AGapIsMarked) {
  begin({"a:0"});
  add(0, "one\n");
  add(1000, "two\n");
  end(2004);
  EXPECT_EQ(shown(),
            "a:0 | one\na:0 | [... 996 bytes lost]\na:0 | two\na:0 | [... 1000 bytes lost]\n");
}

TEST_F(OutputRouterTest, WhatIsSkippedAtTheEndIsCounted) {
  begin({"a:0"});
  add(0, "one\n");
  EXPECT_EQ(shown(), "a:0 | one\n");
  router_->skip_rest(Stream::out);
  ASSERT_FALSE(grants_.empty());
  EXPECT_EQ(grants_.front().keep_last, 0U);
  add(4, "on its way\n");
  end(1'200'004);
  EXPECT_EQ(router_->skipped_text(),
            "[... 1.2 MB skipped, complete in runs/x/attempt-0/rank-0.out]");
}

TEST_F(OutputRouterTest, AReaderThatHasGoneWantsNothingMore) {
  begin({"a:0"});
  reader_.reset();
  add(0, "one\n");
  EXPECT_FALSE(writer_->drain(std::chrono::seconds(20)));
  add(4, std::string(router_->first_credit() / 2, 'x'));
  ASSERT_FALSE(grants_.empty());
  EXPECT_EQ(grants_.back().keep_last, 0U);
  end(1'000'000);
  EXPECT_EQ(router_->skipped_text().find("rank-0.err"), std::string::npos);
}

TEST_F(OutputRouterTest, WhileARankPromptsTheOutputOfTheOthersWaits) {
  OutputRouter::Settings settings;
  settings.console.prefix = true;
  settings.labels = {"a:0", "a:1"};
  settings.live = LiveTarget{Stream::out, -1, {80, 24}};
  settings.prompts_of = Rank(0);
  settings.holds_others = true;
  router_->begin(std::move(settings));
  for (const std::uint32_t rank : {0U, 1U}) router_->expect(Rank(rank));
  const auto add_other = [&](std::uint64_t offset, std::string_view bytes) {
    router_->add({Attempt(0), Rank(1), Stream::out, offset, bytes});
  };
  add_other(0, "first\n");
  add(0, "(Pdb) ");
  add_other(6, "sec");
  add_other(9, "ond\n");
  EXPECT_EQ(shown(), "a:1 | first\n");
  router_->answered();
  EXPECT_EQ(shown(), "a:1 | second\n");
  add(6, "42\n(Pdb) ");
  add_other(13, "third\n");
  EXPECT_EQ(shown(), "a:0 | 42\n");
  router_->end({Attempt(0), Rank(1), Stream::out, 19, 0});
  EXPECT_EQ(shown(), "a:1 | third\n") << "the end lets all go";
}

TEST_F(OutputRouterTest, EqualLinesThatWaitedForAPromptAreShownOnce) {
  OutputRouter::Settings settings;
  settings.console.prefix = true;
  settings.console.merged = true;
  settings.labels = {"0", "1", "2"};
  settings.live = LiveTarget{Stream::out, -1, {80, 24}};
  settings.prompts_of = Rank(0);
  settings.holds_others = true;
  router_->begin(std::move(settings));
  for (const std::uint32_t rank : {0U, 1U, 2U}) router_->expect(Rank(rank));
  add(0, "here\n(Pdb) ");
  EXPECT_NE(shown().find("here\n"), std::string::npos) << "the lines above a prompt do not wait";
  for (const std::uint32_t rank : {1U, 2U})
    router_->add({Attempt(0), Rank(rank), Stream::out, 0, "step 1\n"});
  router_->answered();
  for (const std::uint32_t rank : {0U, 1U, 2U})
    router_->end({Attempt(0), Rank(rank), Stream::out, rank == 0 ? 11U : 7U, 0});
  const std::string text = shown();
  EXPECT_NE(text.find("[1-2] step 1\n"), std::string::npos) << text;
}

TEST_F(OutputRouterTest, ABarThatIsLeftIsShownAfterAMoment) {
  begin({"a:0", "a:1"});
  add(0, "\r 10%\r100%\n");
  // The bar is looked after by a timer: it is done when that has fired twice.
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(loop_.run_one(monotonic_now() + std::chrono::seconds(20)));
  EXPECT_EQ(shown(), "a:0 | 100%\n");
}

TEST_F(OutputRouterTest, AMergedLineIsShownWhenItsTimeIsOver) {
  begin({"a:0", "a:1", "a:2"}, {}, true);
  router_->add({Attempt(0), Rank(0), Stream::out, 0, "equal\n"});
  router_->add({Attempt(0), Rank(2), Stream::err, 0, "other\n"});
  router_->add({Attempt(0), Rank(1), Stream::out, 0, "equal\n"});
  // The timer of the first line may show the second one, too.
  std::string text;
  while (text.size() < std::string_view("[0-1] equal\n[2] other\n").size()) {
    ASSERT_TRUE(loop_.run_one(monotonic_now() + std::chrono::seconds(20)));
    if (writer_->pending() > 0 || router_->recent_lines(Rank(2), Stream::err, 1) > 0)
      text += shown();
  }
  EXPECT_EQ(text, "[0-1] equal\n[2] other\n");
  EXPECT_EQ(router_->recent_lines(Rank(1), Stream::out, 2), 1U);
  EXPECT_EQ(router_->recent_lines(Rank(1), Stream::out, 1), 0U);
}

TEST_F(OutputRouterTest, OurOwnLineStandsBelowWhatRanksPrintedBefore) {
  begin({"a:0", "a:1"}, {}, true);
  add(0, "last words\n");
  router_->say(Stream::out, "dlaunch: rank 0 failed\n");
  EXPECT_EQ(shown(), "[0] last words\ndlaunch: rank 0 failed\n");
}

TEST_F(OutputRouterTest, TheEndOfAllStreamsLeavesNoMergedLine) {
  begin({"a:0", "a:1"}, {}, true);
  add(0, "one\npart");
  for (const std::uint32_t rank : {0U, 1U}) router_->give_up(Rank(rank));
  EXPECT_EQ(shown(), "[0] one\n[0] part\n");
  EXPECT_TRUE(router_->complete());
}

}  // namespace
}  // namespace dlaunch
