// The launcher's own messages, beside the output of ranks.
#include "launch/output/screen.h"

#include <gmock/gmock.h>

#include "../engine/side_fixture.h"

namespace dlaunch {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ScreenTest : public SideTest {
 protected:
  /// With the options as they are now.
  Screen screen() { return {*console_, *router_, store_, options_}; }
};

TEST_F(ScreenTest, ATextOfANodeCannotControlTheTerminal) {
  screen().say("a\x1B[2Jb\nc");
  EXPECT_EQ(shown(), "ab\nc\n");
}

TEST_F(ScreenTest, AStatementIsWrappedToTheScreen) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "word ";
  screen().state(text + "end");
  const std::string lines = shown();
  EXPECT_THAT(lines, StartsWith("dlaunch: word word"));
  EXPECT_THAT(lines, HasSubstr("word\n  "));
  EXPECT_THAT(lines, EndsWith("end\n"));
}

TEST_F(ScreenTest, ANoteIsShownAndRecorded) {
  screen().note("the clock of node2 is 3 s ahead");
  EXPECT_EQ(shown(), "dlaunch: note: the clock of node2 is 3 s ahead\n");
  EXPECT_TRUE(store_.flush());
  EXPECT_THAT(file("events.jsonl"), HasSubstr("the clock of node2 is 3 s ahead"));
}

TEST_F(ScreenTest, QuietHidesANoteButRecordsIt) {
  options_.quiet = true;
  screen().note("hidden");
  EXPECT_THAT(shown(), IsEmpty());
  EXPECT_TRUE(store_.flush());
  EXPECT_THAT(file("events.jsonl"), HasSubstr("hidden"));
}

TEST_F(ScreenTest, PlainHasNoStatusLine) {
  screen().show_status("3 of 4 nodes");
  EXPECT_THAT(shown(), IsEmpty());
}

TEST_F(ScreenTest, AStdoutWithoutReaderIsReportedOnce) {
  // stdout: a pipe whose reader is gone; stderr: the fixture's pipe.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const UniqueFd broken(ends[1]);
  console_ = std::make_unique<ConsoleWriter>(broken.get(), writer_end_.get());
  router_ = std::make_unique<OutputRouter>(loop_, *console_, [](const wire::OutputCredit&) {});
  Screen screen = this->screen();
  screen.tell_if_stdout_broke();
  EXPECT_THAT(shown(), IsEmpty()) << "nothing was written to it yet";
  console_->write(Stream::out, "lost\n");
  EXPECT_FALSE(console_->drain(std::chrono::seconds(20)));
  EXPECT_TRUE(console_->broken(Stream::out));
  screen.tell_if_stdout_broke();
  EXPECT_THAT(shown(), HasSubstr("cannot write to stdout"));
  screen.tell_if_stdout_broke();
  EXPECT_THAT(shown(), Not(HasSubstr("stdout")));
}

}  // namespace
}  // namespace dlaunch
