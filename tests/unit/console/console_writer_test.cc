#include "launch/console/console_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
// Longer than anything here takes, so that a hang becomes a failure.
constexpr milliseconds kLong{20'000};

/// A pipe whose ends close when they are asked to, or at the end.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  /// The descriptor stays open: a blocked writer may still use it.
  void leave_writer_open() { ends_[1] = -1; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  std::string read(std::size_t size) {
    std::string text(size, '\0');
    std::size_t done = 0;
    while (done < size) {
      const ssize_t n = ::read(ends_[0], text.data() + done, size - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    text.resize(done);
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

bool wait_readable(int fd) {
  pollfd wanted{fd, POLLIN, 0};
  return ::poll(&wanted, 1, static_cast<int>(kLong.count())) == 1;
}

TEST(ConsoleWriter, KeepsTheOrderAcrossStreams) {
  Pipe pipe;
  ConsoleWriter writer(pipe.writer(), pipe.writer());
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    const std::string text = "line " + std::to_string(i) + "\n";
    writer.write(i % 3 == 0 ? Stream::err : Stream::out, text);
    expected += text;
  }
  EXPECT_TRUE(writer.drain(kLong));
  EXPECT_EQ(writer.pending(), 0U);
  EXPECT_EQ(pipe.read(expected.size()), expected);
}

TEST(ConsoleWriter, WritesMuchThroughASmallPipe) {
  Pipe pipe;
  ConsoleWriter writer(pipe.writer(), pipe.writer());
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    std::string text(static_cast<std::size_t>(i * 37 % 9000 + 1), static_cast<char>('a' + i % 26));
    expected += text;
    writer.write(Stream::out, std::move(text));
  }
  std::string seen;
  std::thread reader([&] { seen = pipe.read(expected.size()); });
  EXPECT_TRUE(writer.drain(kLong));
  reader.join();
  EXPECT_TRUE(seen == expected);
}

TEST(ConsoleWriter, DoesNotWaitForAReaderThatDoesNotRead) {
  Pipe pipe;
  const Clock::time_point begin = Clock::now();
  {
    ConsoleWriter writer(pipe.writer(), pipe.writer());
    const std::size_t size = std::size_t{1} << 20;  // a pipe holds 64 KiB: pipe(7)
    writer.write(Stream::out, std::string(size, 'x'));
    EXPECT_FALSE(writer.drain(milliseconds(20)));
    EXPECT_GE(writer.pending(), size - (std::size_t{64} << 10) - 4096);
    EXPECT_FALSE(writer.broken(Stream::out));
    writer.write(Stream::err, "more");
  }
  EXPECT_LT(Clock::now() - begin, milliseconds(5000));
  pipe.leave_writer_open();
  // The blocked thread ends when the reader is gone, with no harm to this process.
  pipe.close_reader();
}

TEST(ConsoleWriter, TellsProgressWhenTheReaderReads) {
  Pipe pipe;
  ConsoleWriter writer(pipe.writer(), pipe.writer());
  ASSERT_GE(writer.progress_fd(), 0);
  const std::size_t size = std::size_t{256} << 10;
  writer.write(Stream::out, std::string(size, 'x'));
  writer.ask_progress();
  std::size_t left = writer.pending();
  EXPECT_LE(left, size);
  EXPECT_EQ(pipe.read(size).size(), size);
  while (left > 0) {
    ASSERT_TRUE(wait_readable(writer.progress_fd()));
    std::uint64_t count = 0;
    ASSERT_EQ(::read(writer.progress_fd(), &count, sizeof count), 8);
    writer.ask_progress();
    EXPECT_LE(writer.pending(), left);
    left = writer.pending();
  }
  EXPECT_TRUE(writer.drain(kLong));
}

TEST(ConsoleWriter, AReaderThatIsGoneIsNoSignal) {
  Pipe gone;
  Pipe there;
  gone.close_reader();
  ConsoleWriter writer(gone.writer(), there.writer());
  writer.write(Stream::out, "lost");
  writer.write(Stream::err, "kept");
  EXPECT_FALSE(writer.drain(kLong));
  EXPECT_TRUE(writer.broken(Stream::out));
  EXPECT_EQ(writer.error_number(Stream::out), EPIPE);
  EXPECT_FALSE(writer.broken(Stream::err));
  EXPECT_EQ(there.read(4), "kept");
  writer.write(Stream::out, "lost too");
  EXPECT_EQ(writer.dropped(Stream::out), 12U);
  EXPECT_EQ(writer.pending(), 0U);
}

TEST(ConsoleWriter, AReaderThatGoesAwayLaterEndsTheWait) {
  Pipe pipe;
  ConsoleWriter writer(pipe.writer(), pipe.writer());
  writer.write(Stream::out, std::string(std::size_t{1} << 20, 'x'));
  (void)pipe.read(1000);
  pipe.close_reader();
  EXPECT_FALSE(writer.drain(kLong));
  EXPECT_TRUE(writer.broken(Stream::out));
  EXPECT_EQ(writer.pending(), 0U);
  EXPECT_GT(writer.dropped(Stream::out), 0U);
}

TEST(ConsoleWriter, WaitsForADescriptorThatIsNonBlocking) {
  Pipe pipe;
  ASSERT_EQ(::fcntl(pipe.writer(), F_SETFL, O_NONBLOCK), 0);
  ConsoleWriter writer(pipe.writer(), pipe.writer());
  const std::size_t size = std::size_t{1} << 20;
  writer.write(Stream::out, std::string(size, 'x'));
  EXPECT_EQ(pipe.read(size).size(), size);
  EXPECT_TRUE(writer.drain(kLong));
}

TEST(ConsoleWriter, AnotherFileIsNotHeldUpByTheOldOne) {
  Pipe pipe;
  Pipe other;
  const int target = ::dup(pipe.writer());
  ASSERT_GE(target, 0);
  ConsoleWriter writer(target, target);
  const std::size_t size = std::size_t{1} << 20;
  writer.write(Stream::out, std::string(size, 'x'));
  EXPECT_FALSE(writer.drain(milliseconds(20)));
  const std::size_t left = writer.pending();
  writer.ask_progress();

  ASSERT_GE(::dup2(other.writer(), target), 0);
  EXPECT_EQ(writer.targets_changed(), left);
  EXPECT_TRUE(wait_readable(writer.progress_fd()));
  EXPECT_EQ(writer.pending(), 0U);
  writer.write(Stream::err, "later");
  EXPECT_TRUE(writer.drain(kLong));
  EXPECT_EQ(other.read(5), "later");

  // The abandoned thread wakes up, reports nothing and closes its file.
  pipe.close_writer();
  ASSERT_EQ(::close(target), 0);
  const std::string old = pipe.read(size);
  EXPECT_LT(old.size(), size);
  EXPECT_EQ(old.find_first_not_of('x'), std::string::npos);
}

TEST(ConsoleWriter, AFailureOfTheOldFileMeansNothing) {
  Pipe pipe;
  Pipe other;
  const int target = ::dup(pipe.writer());
  ASSERT_GE(target, 0);
  pipe.close_reader();
  ConsoleWriter writer(target, target);
  writer.write(Stream::out, "lost");
  EXPECT_FALSE(writer.drain(kLong));
  ASSERT_GE(::dup2(other.writer(), target), 0);
  (void)writer.targets_changed();
  EXPECT_FALSE(writer.broken(Stream::out));
  writer.write(Stream::out, "later");
  EXPECT_TRUE(writer.drain(kLong));
  EXPECT_EQ(other.read(5), "later");
  ::close(target);
}

TEST(ConsoleWriter, LeavesTheDescriptorsAsTheyAre) {
  Pipe pipe;
  const int before = ::fcntl(pipe.writer(), F_GETFL);
  {
    ConsoleWriter writer(pipe.writer(), pipe.writer());
    writer.write(Stream::out, "x");
    EXPECT_TRUE(writer.drain(kLong));
  }
  EXPECT_EQ(::fcntl(pipe.writer(), F_GETFL), before);
}

TEST(ConsoleWriter, ReportsAFullDisk) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);  // full(4): ENOSPC
  ASSERT_GE(full, 0);
  ConsoleWriter writer(full, full);
  writer.write(Stream::out, "x");
  EXPECT_FALSE(writer.drain(kLong));
  EXPECT_EQ(writer.error_number(Stream::out), ENOSPC);
  ::close(full);
}

}  // namespace
}  // namespace dlaunch
