// The engine's end of the link, with the test as the front.
#include "launch/engine/front_side.h"

#include <csignal>

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "launch/front/front_link.h"
#include "os/descriptors.h"
#include "side_fixture.h"

namespace dlaunch {
namespace {

class FrontSideTest : public SideTest {
 protected:
  explicit FrontSideTest(bool detach = false) {
    auto ends = *make_socket_pair(SOCK_SEQPACKET);
    front_ = std::move(ends.first);
    options_.detach = detach;
    output_.emplace(loop_, options_, nodes_, store_, *console_, *router_, *screen_);
    side_.emplace(loop_, options_, std::move(ends.second), HandOver(detach), nodes_, store_,
                  *screen_, *output_,
                  FrontSide::Callbacks{[this](Event event) { events_.push_back(std::move(event)); },
                                       [this](int number) { signals_.push_back(number); }});
  }

  void say(FrontMessage kind, const std::string& body = "") {
    ASSERT_TRUE(send_front_message(front_.get(), kind, body.data(), body.size()));
  }
  /// The next message of the engine, kind and body; empty: there is none.
  std::string heard() {
    char bytes[4096];
    const ssize_t n = ::recv(front_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
  }

  LaunchPlan plan_ = make_plan();
  UniqueFd front_;
  std::vector<Event> events_;
  std::vector<int> signals_;
  std::optional<OutputSide> output_;
  std::optional<FrontSide> side_;
};

TEST_F(FrontSideTest, TellsTheFrontWhereTheRunFolderIs) {
  side_->announce();
  EXPECT_EQ(heard(), 'f' + store_.folder().path() + '\0' + store_.shown_path());
}

TEST_F(FrontSideTest, PassesSignalsOnAndAnswersPings) {
  say(FrontMessage::signal, std::string(1, SIGTERM));
  say(FrontMessage::ping);
  ASSERT_TRUE(wait_for([this] { return !signals_.empty(); }));
  EXPECT_EQ(signals_, std::vector<int>{SIGTERM});
  std::string answer;
  ASSERT_TRUE(wait_for([&] {
    if (answer.empty()) answer = heard();
    return !answer.empty();
  }));
  EXPECT_EQ(answer, "o");
  EXPECT_TRUE(events_.empty()) << "what a signal means is decided elsewhere";
}

TEST_F(FrontSideTest, AFrontThatIsGoneIsAnEvent) {
  front_.reset();
  ASSERT_TRUE(wait_for([this] { return !events_.empty(); }));
  EXPECT_EQ(events_[0], Event(event::FrontGone{}));
}

TEST_F(FrontSideTest, OneThatHasHandedTheRunOverMayGo) {
  say(FrontMessage::hand_over);
  say(FrontMessage::signal, std::string(1, SIGUSR1));
  ASSERT_TRUE(wait_for([this] { return !signals_.empty(); }));
  front_.reset();
  for (int i = 0; i < 10; ++i) loop_.poll();
  EXPECT_TRUE(events_.empty());
}

TEST_F(FrontSideTest, StdinGoesToTheNodeOfItsRankPieceByPiece) {
  side_->begin_stdin(plan_, Rank(2));
  EXPECT_EQ(heard(), "m");  // asks for the first piece
  say(FrontMessage::stdin_data, "hello\n");
  ASSERT_TRUE(wait_for([this] { return !nodes_.sent<wire::StdinData>().empty(); }));
  const auto sent = nodes_.sent<wire::StdinData>();
  EXPECT_EQ(sent[0].first, node(1));
  EXPECT_EQ(sent[0].second.bytes, "hello\n");
  EXPECT_EQ(heard(), "") << "the rank has taken nothing yet";
  side_->on(wire::StdinTaken{Attempt(0), 6, false});
  EXPECT_EQ(heard(), "m");
}

TEST_F(FrontSideTest, BetweenTwoAttemptsStdinWaits) {
  side_->begin_stdin(plan_, Rank(0));
  side_->tell(action::Restart{});
  say(FrontMessage::stdin_data, "later\n");
  for (int i = 0; i < 10; ++i) loop_.poll();
  EXPECT_TRUE(nodes_.sent<wire::StdinData>().empty());
  plan_.attempt = Attempt(1);
  side_->begin_stdin(plan_, Rank(0));
  ASSERT_EQ(nodes_.sent<wire::StdinData>().size(), 1U);
  EXPECT_EQ(nodes_.sent<wire::StdinData>()[0].second.attempt, Attempt(1));
}

TEST_F(FrontSideTest, CtrlCIsTypedForTheRankWithATerminalOnceThereIsOne) {
  say(FrontMessage::interrupt);
  ASSERT_TRUE(wait_for([this] { return !signals_.empty(); }));
  EXPECT_EQ(signals_, std::vector<int>{SIGINT}) << "no rank runs yet: it ends the run";
  side_->begin_stdin(plan_, Rank(2));
  say(FrontMessage::interrupt);
  ASSERT_TRUE(wait_for([this] { return !nodes_.sent<wire::StdinData>().empty(); }));
  EXPECT_EQ(nodes_.sent<wire::StdinData>()[0].second.bytes, "\x03");
  EXPECT_EQ(signals_.size(), 1U);
}

TEST_F(FrontSideTest, QuestionsAreOfferedOnlyWhileNodesAreConnected) {
  options_.may_ask = true;
  side_->connecting(node(1));
  EXPECT_TRUE(nodes_.prompts_ != nullptr);
  side_->connected();
  EXPECT_TRUE(nodes_.prompts_ == nullptr);
}

TEST_F(FrontSideTest, NodesThatWereForkedHaveNoQuestions) {
  options_.may_ask = true;
  for (Node& node : nodes_.cluster_.nodes) node.is_launcher = true;
  side_->connecting(node(0));
  EXPECT_TRUE(nodes_.prompts_ == nullptr);
}

}  // namespace
}  // namespace dlaunch
