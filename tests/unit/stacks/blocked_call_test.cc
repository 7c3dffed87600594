#include "os/blocked_call.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

/// A child that does this until it is killed.
class Blocked {
 public:
  explicit Blocked(const std::function<void()>& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    work();
    ::pause();
    ::_exit(0);
  }
  ~Blocked() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

  /// Once it does what is expected; what it did last where it does not within 10 s.
  [[nodiscard]] std::string text(const std::string& expected) const {
    std::string said;
    for (int i = 0; i < 1000 && said != expected; ++i) {
      said = text_of(blocked_call(pid_, pid_));
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return said;
  }

 private:
  pid_t pid_;
};

class BlockedCallTest : public testing::Test {
 protected:
  BlockedCallTest() {
    if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
    fifo_ = folder_ + "/fifo";
    ::mkfifo(fifo_.c_str(), 0600);
  }
  ~BlockedCallTest() override {
    ::unlink(fifo_.c_str());
    ::rmdir(folder_.c_str());
  }
  std::string folder_ = "/tmp/dlaunch-test-XXXXXX";
  std::string fifo_;
};

TEST_F(BlockedCallTest, OpeningAFifoNamesIt) {
  const Blocked child([this] { (void)::open(fifo_.c_str(), O_RDONLY); });
  EXPECT_EQ(child.text("opening " + fifo_), "opening " + fifo_);
}

TEST_F(BlockedCallTest, APathMayGoOnInTheNextPage) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::string pages(3 * page, '\0');
  const std::size_t rest = reinterpret_cast<std::uintptr_t>(pages.data()) % page;
  char* const path = pages.data() + 2 * page - rest - fifo_.size() / 2;
  fifo_.copy(path, fifo_.size());
  const Blocked opening([&] { (void)::open(path, O_RDONLY); });
  EXPECT_EQ(opening.text("opening " + fifo_), "opening " + fifo_);
}

TEST_F(BlockedCallTest, ReadingAndPollingAFifoNameIt) {
  const Blocked reader([this] {
    char byte = 0;
    (void)!::read(::open(fifo_.c_str(), O_RDWR), &byte, 1);
  });
  EXPECT_EQ(reader.text("reading " + fifo_), "reading " + fifo_);
  const Blocked poller([this] {
    pollfd one{::open(fifo_.c_str(), O_RDWR), POLLIN, 0};
    ::poll(&one, 1, -1);
  });
  EXPECT_EQ(poller.text("waiting for " + fifo_), "waiting for " + fifo_);
}

TEST_F(BlockedCallTest, WhatIsNoFile) {
  const Blocked pipe([] {
    int ends[2];
    char byte = 0;
    if (::pipe(ends) == 0) (void)!::read(ends[0], &byte, 1);
  });
  EXPECT_EQ(pipe.text("reading a pipe"), "reading a pipe");
  const Blocked sleeper([] { ::sleep(1000); });
  EXPECT_EQ(sleeper.text("sleeping"), "sleeping");
  const Blocked busy([] {
    for (volatile bool on = true; on;) {
    }
  });
  EXPECT_EQ(busy.text(""), "");
}

TEST(BlockedCall, InWords) {
  EXPECT_EQ(text_of({"reading", "/mnt/nfs/x"}), "reading /mnt/nfs/x");
  EXPECT_EQ(text_of({"receiving from", "socket:[4711]"}), "receiving from a socket");
  EXPECT_EQ(text_of({"connecting", "socket:[4711]"}), "connecting");
  EXPECT_EQ(text_of({"waiting for", ""}), "waiting for descriptors");
  EXPECT_EQ(text_of({"waiting for", "anon_inode:[eventfd]"}), "waiting for [eventfd]");
  EXPECT_EQ(text_of({}), "");
}

TEST(BlockedCall, OfAProcessThatIsNotThereNothingIsKnown) {
  EXPECT_EQ(blocked_call(1 << 22, 1 << 22).verb, "");
}

}  // namespace
}  // namespace dlaunch
