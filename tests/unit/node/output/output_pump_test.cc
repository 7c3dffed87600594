// OutputPump between a pipe and a launcher's end of the channel in the same loop.
#include "node/output/output_pump.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/signals.h"
#include "os/spawn.h"

namespace dlaunch {
namespace {

class OutputPumpTest : public testing::Test {
 protected:
  OutputPumpTest() {
    block_signals({SIGPIPE});
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    launcher_.start({[this](wire::FromAgent message) {
                       if (const auto* output = std::get_if<wire::OutputData>(&message)) {
                         offsets_.push_back(output->offset);
                         seen_.append(output->bytes);
                       } else {
                         received_.push_back(std::move(message));
                       }
                     },
                     [](const std::string&) {}});
    agent_.start({[this](const wire::ToAgent& message) {
                    if (const auto* credit = std::get_if<wire::OutputCredit>(&message))
                      pump_.credit(*credit);
                  },
                  [](const std::string&) {}, [this] { pump_.resume(); }});
  }
  ~OutputPumpTest() override { std::filesystem::remove_all(folder_); }

  void start(std::uint64_t credit, bool is_shown = true) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pipe_.reset(ends[1]);
    pump_.begin(Attempt(0), folder_, credit);
    pump_.add(Rank(3), Stream::out, UniqueFd(ends[0]), is_shown);
  }
  void write(const std::string& text) {
    ASSERT_EQ(::write(pipe_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void grant(std::uint64_t up_to, std::uint64_t keep_last = ~std::uint64_t{0}) {
    launcher_.send(wire::OutputCredit{Attempt(0), Rank(3), Stream::out, up_to, keep_last});
  }
  template <class Condition>
  bool wait_for(Condition condition) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!condition() && loop_.run_one(end)) {
    }
    return condition();
  }
  [[nodiscard]] std::string file() const {
    std::ifstream in(std::string(folder_) + "/rank-3.out", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] const wire::OutputEnd* ended() const {
    for (const wire::FromAgent& message : received_) {
      if (const auto* end = std::get_if<wire::OutputEnd>(&message)) return end;
    }
    return nullptr;
  }

  char folder_[32] = "/tmp/output-pump-XXXXXX";
  EventLoop loop_;
  std::pair<UniqueFd, UniqueFd> ends_ = *make_socket_pair(SOCK_STREAM);
  LauncherChannel launcher_{loop_, duplicate(ends_.first.get()), std::move(ends_.first), 0, 1};
  AgentChannel agent_{loop_, duplicate(ends_.second.get()), std::move(ends_.second), 0, 1};
  OutputPump pump_{loop_, agent_};
  UniqueFd pipe_;
  std::string seen_;
  std::vector<std::uint64_t> offsets_;
  std::vector<wire::FromAgent> received_;
};

TEST_F(OutputPumpTest, SendsNoMoreThanItHasCreditFor) {
  start(6);
  write("first\nsecond\n");
  ASSERT_TRUE(wait_for([&] { return seen_.size() >= 6; }));
  ASSERT_TRUE(wait_for([&] { return file().size() == 13; }));
  EXPECT_EQ(seen_, "first\n");
  grant(100);
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 13; }));
  EXPECT_EQ(seen_, "first\nsecond\n");
  pipe_.reset();
  ASSERT_TRUE(wait_for([&] { return ended() != nullptr; }));
  EXPECT_EQ(ended()->size, 13U);
  EXPECT_EQ(ended()->lost, 0U);
}

TEST_F(OutputPumpTest, LeavesOutWhatIsOldFromTheStartOfALineOn) {
  start(6);
  write("first\nsecond\nthird\nfourth\n");
  ASSERT_TRUE(wait_for([&] { return file().size() == 26; }));
  grant(8, 10);  // the last ten bytes are "rd\nfourth\n"; where they are, the launcher cannot know
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 13; }));
  EXPECT_EQ(seen_, "first\nfourth\n");
  EXPECT_EQ(offsets_.back(), 19U);
}

TEST_F(OutputPumpTest, KeepsAllThatIsNotMoreThanIsToBeKept) {
  start(6);
  write("first\nsecond\n");
  ASSERT_TRUE(wait_for([&] { return file().size() == 13; }));
  grant(100, 7);
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 13; }));
}

TEST_F(OutputPumpTest, SendsNothingMoreOfAStreamThatIsNotWanted) {
  start(6);
  write("first\nsecond\n");
  ASSERT_TRUE(wait_for([&] { return file().size() == 13 && seen_.size() == 6; }));
  grant(6, 0);
  pipe_.reset();
  ASSERT_TRUE(wait_for([&] { return ended() != nullptr; }));
  EXPECT_EQ(seen_, "first\n");
  EXPECT_EQ(ended()->size, 13U);
}

TEST_F(OutputPumpTest, OutputOfARankThatIsNotShownStaysOnItsNode) {
  start(100, false);
  write("first\n");
  pipe_.reset();
  ASSERT_TRUE(wait_for([&] { return ended() != nullptr; }));
  EXPECT_EQ(seen_, "");
  EXPECT_EQ(file(), "first\n");
}

TEST_F(OutputPumpTest, WhatIsStoredCanBeFetchedWhileItGrowsAndAfterItsEnd) {
  using Part = wire::OutputPart;
  const auto fetched = [&](Part part, std::uint64_t offset, std::uint32_t size) {
    return pump_.fetch({Attempt(0), Rank(3), part, offset, size});
  };
  const auto answer = [](Part part, std::uint64_t offset, std::string bytes) {
    return wire::FetchedOutput{Attempt(0), Rank(3), part, offset, std::move(bytes)};
  };
  start(100, false);
  write("first\nsecond\n");
  ASSERT_TRUE(wait_for([&] { return file().size() == 13; }));
  EXPECT_EQ(fetched(Part::out, 6, 4), answer(Part::out, 6, "seco"));
  pipe_.reset();
  ASSERT_TRUE(wait_for([&] { return ended() != nullptr; }));
  EXPECT_EQ(fetched(Part::out, 0, 1000), answer(Part::out, 0, "first\nsecond\n"));
  EXPECT_EQ(fetched(Part::out, 13, 1000), answer(Part::out, 13, "")) << "its end";
  EXPECT_EQ(fetched(Part::err, 0, 1000), answer(Part::err, 0, ""));
  EXPECT_EQ(fetched(Part::error_file, 0, 1000), answer(Part::error_file, 0, ""));
  std::ofstream(std::string(folder_) + "/rank-3.error.json") << "{}";
  EXPECT_EQ(fetched(Part::error_file, 0, 1000), answer(Part::error_file, 0, "{}"));
  EXPECT_EQ(fetched(Part::error_file, 2, 1000), answer(Part::error_file, 2, ""));
  const wire::FetchedOutput none{Attempt(7), Rank(3), Part::out, 0, ""};
  EXPECT_EQ(pump_.fetch({Attempt(7), Rank(3), Part::out, 0, 9}), none) << "of another attempt";
  std::filesystem::remove(std::string(folder_) + "/rank-3.out");
  EXPECT_EQ(fetched(Part::out, 0, 1000), answer(Part::out, 13, "")) << "it was removed";
  pump_.forget(Attempt(0));
  EXPECT_EQ(fetched(Part::out, 0, 1000), answer(Part::out, 0, ""));
}

TEST_F(OutputPumpTest, ALinkInPlaceOfAnErrorFileIsNotFollowed) {
  start(100);
  std::filesystem::create_symlink("/etc/passwd", std::string(folder_) + "/rank-3.error.json");
  EXPECT_EQ(pump_.fetch({Attempt(0), Rank(3), wire::OutputPart::error_file, 0, 100}).bytes, "");
}

/// What the launcher says in its Resume.
wire::Resume stands_at(std::uint64_t received, std::uint64_t control = 0) {
  wire::Resume theirs;
  theirs.control_received = control;
  theirs.streams = {{Attempt(0), Rank(3), Stream::out, received}};
  return theirs;
}

TEST_F(OutputPumpTest, GoesBackToWhereTheLauncherStands) {
  start(100);
  write("first\nsecond\n");
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 13; }));
  seen_.clear();
  pump_.rewind(stands_at(6));
  pump_.resume();
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 7; }));
  EXPECT_EQ(seen_, "second\n");
  EXPECT_EQ(offsets_.back(), 6U);
}

TEST_F(OutputPumpTest, AStreamOfWhichNothingHasArrivedIsSentFromItsBeginning) {
  start(100);
  write("first\n");
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 6; }));
  seen_.clear();
  pump_.rewind(wire::Resume{});
  pump_.resume();
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 6; }));
  EXPECT_EQ(offsets_.back(), 0U);
}

TEST_F(OutputPumpTest, ALauncherThatClaimsMoreThanWasSentSkipsNothing) {
  start(6);
  write("first\nsecond\n");
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 6 && file().size() == 13; }));
  pump_.rewind(stands_at(13));
  grant(100);
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 13; }));
  EXPECT_EQ(seen_, "first\nsecond\n");
}

TEST_F(OutputPumpTest, WhatWasLeftOutStaysLeftOut) {
  start(6);
  write("first\nsecond\nthird\nfourth\n");
  ASSERT_TRUE(wait_for([&] { return file().size() == 26; }));
  grant(8, 10);
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 13; }));
  seen_.clear();
  pump_.rewind(stands_at(6));
  pump_.resume();
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 7; }));
  EXPECT_EQ(seen_, "fourth\n");
}

TEST_F(OutputPumpTest, AFinishedStreamIsSentAgainAtOnceUnlessItsEndHasArrived) {
  start(100);
  write("first\nsecond\n");
  pipe_.reset();
  ASSERT_TRUE(wait_for([&] { return ended() != nullptr; }));
  seen_.clear();
  pump_.rewind(stands_at(13, 1));  // its OutputEnd, too
  pump_.rewind(stands_at(6, 0));
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 7; }));
  EXPECT_EQ(seen_, "second\n");
}

/// A limit of the size of files (setrlimit(2), EFBIG) in place of a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t size) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

// Output that can be neither stored nor sent is lost and reported, but blocks no rank.
TEST_F(OutputPumpTest, ADiskThatIsFullWhileThereIsNoConnectionLosesBytesAndSaysHowMany) {
  start(100);
  write("first\n");
  ASSERT_TRUE(wait_for([&] { return seen_.size() == 6; }));
  agent_.disconnect();
  launcher_.disconnect();
  const FullDisk full(6);
  write("second\n");
  pipe_.reset();
  ASSERT_TRUE(wait_for([&] {
    return pump_.fetch({Attempt(0), Rank(3), wire::OutputPart::out, 6, 99}).offset == 13;
  }));
  auto ends = *make_socket_pair(SOCK_STREAM);
  UniqueFd there = duplicate(ends.first.get());
  UniqueFd here = duplicate(ends.second.get());
  launcher_.go_on_over(std::move(there), std::move(ends.first), stands_at(6));
  agent_.go_on_over(std::move(here), std::move(ends.second), wire::Resume{});
  ASSERT_TRUE(wait_for([&] { return agent_.is_connected(); }));
  pump_.rewind(stands_at(6));
  pump_.resume();
  ASSERT_TRUE(wait_for([&] { return ended() != nullptr; }));
  EXPECT_EQ(ended()->size, 13U);
  EXPECT_EQ(ended()->lost, 7U);
  EXPECT_EQ(seen_, "first\n");
}

TEST_F(OutputPumpTest, WithoutAFolderTheConsoleStillGetsIt) {
  std::filesystem::remove_all(folder_);
  start(100);
  write("first\n");
  pipe_.reset();
  ASSERT_TRUE(wait_for([&] { return ended() != nullptr; }));
  EXPECT_EQ(seen_, "first\n");
  EXPECT_EQ(ended()->lost, 6U);
  std::size_t notices = 0;
  for (const wire::FromAgent& message : received_)
    notices += std::holds_alternative<wire::Notice>(message);
  EXPECT_EQ(notices, 1U);
}

}  // namespace
}  // namespace dlaunch
