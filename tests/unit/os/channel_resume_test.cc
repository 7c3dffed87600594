// A conversation over connections that break at every possible place.
#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/channel.h"
#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

/// The kind of message does not matter to a channel.
using Peer = Channel<wire::FromAgent, wire::FromAgent>;

/// Copies bytes between two sockets until its budget is used up, then closes all of them.
class Relay {
 public:
  Relay(EventLoop& loop, std::size_t budget) : budget_(budget) {
    auto left = *make_socket_pair(SOCK_STREAM);
    auto right = *make_socket_pair(SOCK_STREAM);
    outer_ = {std::move(left.first), std::move(right.first)};
    inner_[0].emplace(loop, std::move(left.second));
    inner_[1].emplace(loop, std::move(right.second));
    for (const std::size_t from : {0, 1}) wait(from);
  }
  UniqueFd end(std::size_t which) { return std::move(outer_[which]); }
  [[nodiscard]] bool is_cut() const { return cut_; }
  [[nodiscard]] std::size_t carried() const { return carried_; }

 private:
  void wait(std::size_t from) {
    inner_[from]->on_readable([this, from] { copy(from); });
  }
  void copy(std::size_t from) {
    if (cut_) return;
    char bytes[4096];
    const ssize_t n =
        ::read(inner_[from]->get(), bytes, std::min(sizeof bytes, budget_ - carried_));
    if (n > 0) {
      carried_ += static_cast<std::size_t>(n);
      EXPECT_EQ(::write(inner_[1 - from]->get(), bytes, static_cast<std::size_t>(n)), n);
    }
    if (n == 0 || carried_ == budget_) {
      cut_ = true;
      for (auto& end : inner_) end->close();
      return;
    }
    wait(from);
  }

  std::size_t budget_;
  std::size_t carried_ = 0;
  bool cut_ = false;
  std::array<UniqueFd, 2> outer_;
  std::array<std::optional<WatchedFd>, 2> inner_;
};

constexpr std::uint64_t kOutputSize = 600;
constexpr int kControl = 34;  // more than one Ack

std::string output_text() {
  std::string text;
  while (text.size() < kOutputSize) text += "line " + std::to_string(text.size()) + '\n';
  text.resize(kOutputSize);
  return text;
}

/// Sends control messages both ways and a stream one way, from `far` to `near`.
class Conversation {
 public:
  explicit Conversation(std::vector<std::size_t> cuts) : cuts_(std::move(cuts)) {
    connect_relay();
    UniqueFd near_write = duplicate(near_fd_.get());
    near_.emplace(loop_, std::move(near_fd_), std::move(near_write), 3, 77);
    UniqueFd far_write = duplicate(far_fd_.get());
    far_.emplace(loop_, std::move(far_fd_), std::move(far_write), 3, 77);
    Peer::Callbacks near;
    near.on_message = [this](const wire::FromAgent& m) { near_got(m); };
    near.on_end = [this](const std::string& why) { ended_ += "near: " + why; };
    near.on_lost = [this](const std::string&) { go_on(); };
    near_->start(std::move(near));
    Peer::Callbacks far;
    far.on_message = [this](const wire::FromAgent& m) { far_got(m); };
    far.on_end = [this](const std::string& why) { ended_ += "far: " + why; };
    far.on_lost = [this](const std::string&) { go_on(); };
    far.on_drained = [this] { send_output(); };
    far.on_resume = [this](const wire::Resume& theirs) { rewind(theirs); };
    far_->start(std::move(far));
    near_->send(wire::Notice{"0"});
  }

  void run() {
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
    while (ended_.empty() && !done() && loop_.run_one(limit)) {
    }
    EXPECT_EQ(ended_, "");
    EXPECT_EQ(near_count_, kControl);
    EXPECT_EQ(far_count_, kControl);
    EXPECT_EQ(output_, text_);
    EXPECT_TRUE(output_ended_);
  }
  [[nodiscard]] std::size_t carried() const { return carried_ + relay_->carried(); }

 private:
  void connect_relay() {
    if (relay_) carried_ += relay_->carried();
    const bool last = next_cut_ == cuts_.size();
    // Not destroyed before its callbacks of this turn are done.
    if (relay_) old_relays_.push_back(std::move(relay_));
    relay_ = std::make_unique<Relay>(loop_, last ? ~std::size_t{0} : cuts_[next_cut_++]);
    near_fd_ = relay_->end(0);
    far_fd_ = relay_->end(1);
  }
  /// Called by each end that notices; the first one connects both.
  void go_on() {
    connect_relay();
    wire::Resume mine;
    mine.connection = ++connections_;
    if (!output_.empty() && !output_ended_)
      mine.streams = {{Attempt(0), Rank(1), Stream::out, output_.size()}};
    UniqueFd near_write = duplicate(near_fd_.get());
    near_->go_on_over(std::move(near_fd_), std::move(near_write), mine);
    UniqueFd far_write = duplicate(far_fd_.get());
    far_->go_on_over(std::move(far_fd_), std::move(far_write), wire::Resume{connections_, 0});
  }
  void near_got(const wire::FromAgent& message) {
    if (const auto* data = std::get_if<wire::OutputData>(&message)) {
      ASSERT_EQ(data->offset, output_.size());
      output_ += data->bytes;
    }
    if (const auto* notice = std::get_if<wire::Notice>(&message)) {
      ASSERT_EQ(notice->text, std::to_string(near_count_));
      if (++near_count_ < kControl) near_->send(wire::Notice{std::to_string(near_count_)});
    }
    if (const auto* end = std::get_if<wire::OutputEnd>(&message)) {
      ASSERT_FALSE(output_ended_);
      ASSERT_EQ(end->size, output_.size()) << "its end came before its bytes";
      output_ended_ = true;
    }
  }
  void far_got(const wire::FromAgent& message) {
    const auto* notice = std::get_if<wire::Notice>(&message);
    ASSERT_NE(notice, nullptr);
    ASSERT_EQ(notice->text, std::to_string(far_count_));
    ++far_count_;
    far_->send(*notice);
    send_output();
  }
  void send_output() {
    if (end_sequence_ != 0) return;
    const std::string_view piece = std::string_view(text_).substr(sent_, 50);
    far_->send(wire::OutputData{Attempt(0), Rank(1), Stream::out, sent_, piece});
    if (far_->is_connected()) sent_ += piece.size();
    if (sent_ == text_.size())
      end_sequence_ = far_->send(wire::OutputEnd{Attempt(0), Rank(1), Stream::out, sent_, 0});
  }
  void rewind(const wire::Resume& theirs) {
    if (end_sequence_ != 0 && end_sequence_ <= theirs.control_received) return;
    sent_ = theirs.streams.empty() ? 0 : theirs.streams.front().received;
    if (end_sequence_ == 0) return;
    far_->send(wire::OutputData{Attempt(0), Rank(1), Stream::out, sent_,
                                std::string_view(text_).substr(sent_)});
    sent_ = text_.size();
  }
  [[nodiscard]] bool done() const {
    return near_count_ == kControl && far_count_ == kControl && output_ended_;
  }

  EventLoop loop_;
  std::vector<std::size_t> cuts_;
  std::size_t next_cut_ = 0;
  std::size_t carried_ = 0;
  std::unique_ptr<Relay> relay_;
  std::vector<std::unique_ptr<Relay>> old_relays_;
  UniqueFd near_fd_;
  UniqueFd far_fd_;
  std::optional<Peer> near_;
  std::optional<Peer> far_;
  std::uint32_t connections_ = 1;
  int near_count_ = 0;
  int far_count_ = 0;
  const std::string text_ = output_text();
  std::uint64_t sent_ = 0;
  std::uint64_t end_sequence_ = 0;
  std::string output_;
  bool output_ended_ = false;
  std::string ended_;
};

std::size_t bytes_of_a_whole_conversation() {
  Conversation whole({});
  whole.run();
  return whole.carried();
}

TEST(ChannelResume, OneCutAtEveryByte) {
  block_signals({SIGPIPE});
  const std::size_t all = bytes_of_a_whole_conversation();
  ASSERT_GT(all, kOutputSize + 2U * kControl * wire::kHeaderSize);
  for (std::size_t cut = 1; cut <= all && !testing::Test::HasFailure(); ++cut) {
    SCOPED_TRACE("cut after byte " + std::to_string(cut));
    Conversation({cut}).run();
  }
}

TEST(ChannelResume, EveryNewConnectionIsCutToo) {
  block_signals({SIGPIPE});
  const std::size_t all = bytes_of_a_whole_conversation();
  for (std::size_t first = 1; first < all && !testing::Test::HasFailure(); first += 97) {
    // The second connection ends within the Resume frames, then within what is repeated.
    for (std::size_t second = 1; second < 500 && !testing::Test::HasFailure(); second += 31) {
      SCOPED_TRACE("cut after bytes " + std::to_string(first) + " and " + std::to_string(second));
      Conversation({first, second, second + 7, 1}).run();
    }
  }
}

class ResumeOrder : public testing::Test {
 protected:
  ResumeOrder() {
    block_signals({SIGPIPE});
    Peer::Callbacks callbacks;
    callbacks.on_message = [this](wire::FromAgent m) { received_.push_back(std::move(m)); };
    callbacks.on_end = [this](std::string why) { end_ = std::move(why); };
    callbacks.on_lost = [this](const std::string&) { lost_ = true; };
    channel_.start(std::move(callbacks));
  }
  void turn_until(const std::function<bool()>& done) {
    const MonotonicTime limit = monotonic_now() + std::chrono::seconds(20);
    while (!done() && loop_.run_one(limit)) {
    }
  }
  template <class Message>
  void write_to(UniqueFd& fd, const Message& message, std::uint64_t sequence) {
    wire::Frame frame = wire::encode(message);
    frame.sequence = sequence;
    frame.session = 1;
    std::string bytes;
    wire::append_frame(frame, bytes);
    ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  /// The channel's new connection; the other end.
  UniqueFd go_on() {
    auto ends = *make_socket_pair(SOCK_STREAM);
    UniqueFd write = duplicate(ends.first.get());
    channel_.go_on_over(std::move(ends.first), std::move(write), {});
    return std::move(ends.second);
  }

  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  Peer channel_{loop_, duplicate(ends_.first.get()), std::move(ends_.first), 0, 1};
  std::vector<wire::FromAgent> received_;
  std::optional<std::string> end_;
  bool lost_ = false;
};

TEST_F(ResumeOrder, EndOfFileIsNoEndAndMessagesAreKept) {
  ends_.second.reset();
  turn_until([this] { return lost_; });
  EXPECT_FALSE(end_);
  EXPECT_FALSE(channel_.is_connected());
  EXPECT_EQ(channel_.send(wire::Notice{"kept"}), 1U);
  EXPECT_EQ(channel_.send(wire::Heartbeat{}), 0U);
  EXPECT_EQ(channel_.queued(), 0U);
}

TEST_F(ResumeOrder, AnythingBeforeTheResumeIsAnError) {
  UniqueFd other = go_on();
  write_to(other, wire::Notice{"too early"}, 1);
  turn_until([this] { return end_.has_value(); });
  EXPECT_EQ(*end_, "Notice message before Resume");
}

TEST_F(ResumeOrder, AResumeInTheMiddleIsAnError) {
  write_to(ends_.second, wire::Resume{}, 0);
  turn_until([this] { return end_.has_value(); });
  EXPECT_EQ(*end_, "Resume message in the middle of a connection");
}

TEST_F(ResumeOrder, AResumeThatKnowsMoreThanWasSentIsAnError) {
  UniqueFd other = go_on();
  write_to(other, wire::Resume{1, 5}, 0);
  turn_until([this] { return end_.has_value(); });
  EXPECT_EQ(*end_, "acknowledgement of message 5, but only 0 were sent");
}

TEST_F(ResumeOrder, ANewConnectionReplacesOneThatStillLives) {
  write_to(ends_.second, wire::Notice{"old"}, 1);
  turn_until([this] { return received_.size() == 1; });
  UniqueFd other = go_on();
  char byte = 0;
  EXPECT_EQ(::read(ends_.second.get(), &byte, 1), 0) << "the old one is closed";
  write_to(other, wire::Resume{}, 0);
  write_to(other, wire::Notice{"old"}, 1);  // repeated: our Resume may not have come
  write_to(other, wire::Notice{"new"}, 2);
  turn_until([this] { return received_.size() == 2; });
  EXPECT_EQ(received_.back(), wire::FromAgent(wire::Notice{"new"}));
  EXPECT_FALSE(lost_);
  EXPECT_FALSE(end_);
}

}  // namespace
}  // namespace dlaunch
