// How a new connection reaches an agent: folders, sockets, passed descriptors, notes of its end.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/session/attach.h"
#include "node/session/attach_socket.h"
#include "os/clock.h"
#include "os/containment.h"
#include "wire/codec.h"
#include "wire/framer.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

class SessionSocketTest : public testing::Test {
 protected:
  SessionSocketTest() {
    EXPECT_NE(::mkdtemp(root_), nullptr);
    folders_ = {std::string(root_) + "/first", std::string(root_) + "/second/dlaunch"};
  }
  ~SessionSocketTest() override { std::filesystem::remove_all(root_); }

  char root_[32] = "/tmp/session-place-XXXXXX";
  std::vector<std::string> folders_;
  const SessionId id_{0xff, 3};
};

TEST_F(SessionSocketTest, SocketAndFolderAreOursAlone) {
  const auto socket = open_session_socket(folders_, id_);
  ASSERT_TRUE(socket.has_value()) << socket.error().message;
  struct stat about {};
  ASSERT_EQ(::stat(folders_[0].c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700U);
  ASSERT_EQ(::stat((folders_[0] + "/agent-00000000000000ff-3").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
  EXPECT_TRUE(find_session(folders_, id_).connection.valid());
  EXPECT_FALSE(find_session(folders_, {0xff, 4}).connection.valid());
  remove_session_socket(*socket, id_);
  EXPECT_FALSE(find_session(folders_, id_).connection.valid());
}

/// A socket that accepts nothing, like a stopped agent's, also with a full queue.
TEST_F(SessionSocketTest, WhoListensIsThereWhateverKeepsHim) {
  EXPECT_FALSE(session_exists(folders_, id_));
  EXPECT_TRUE(wait_for_session_end(folders_, id_));
  auto socket = open_session_socket(folders_, id_);
  ASSERT_TRUE(socket.has_value()) << socket.error().message;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(session_exists(folders_, id_)) << i;
  EXPECT_FALSE(session_exists(folders_, {0xff, 4}));
  EXPECT_FALSE(wait_for_session_end(folders_, id_));
  socket->listener.reset();
  EXPECT_FALSE(session_exists(folders_, id_)) << "a name without a listener";
  UniqueFd abstract = open_abstract_socket(id_);
  ASSERT_TRUE(abstract.valid());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(session_exists(folders_, id_)) << i;
  std::thread ending([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    abstract.reset();
  });
  EXPECT_TRUE(wait_for_session_end(folders_, id_));
  ending.join();
}

/// A guardian whose agent is dead, or one that was stopped with it.
TEST_F(SessionSocketTest, AProcessWithTheWordsOfTheSessionIsThere) {
  const pid_t guardian = ::fork();
  if (guardian == 0) {
    ::execl("/bin/sh", "sh", "-c", "kill -STOP $$", "agent", "--session", "00000000000000ff",
            "--node", "3", nullptr);
    ::_exit(127);
  }
  const MonotonicTime give_up_at = monotonic_now() + std::chrono::seconds(10);
  while (!session_exists(folders_, id_) && monotonic_now() < give_up_at)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(session_exists(folders_, id_));
  EXPECT_FALSE(session_exists(folders_, {0xff, 30}));
  EXPECT_FALSE(session_exists(folders_, {0xfe, 3}));
  ::kill(guardian, SIGKILL);
  EXPECT_TRUE(wait_for_session_end(folders_, id_)) << "a zombie does not count";
  ::waitpid(guardian, nullptr, 0);
}

TEST_F(SessionSocketTest, AFolderThatOthersMayEnterIsPassedOver) {
  ASSERT_EQ(::mkdir(folders_[0].c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folders_[0].c_str(), 0755), 0);
  const auto socket = open_session_socket(folders_, id_);
  ASSERT_TRUE(socket.has_value()) << socket.error().message;
  EXPECT_TRUE(std::filesystem::exists(folders_[1] + "/agent-00000000000000ff-3"));
  EXPECT_TRUE(find_session(folders_, id_).connection.valid());
}

TEST_F(SessionSocketTest, ALinkIsNoFolder) {
  const std::string elsewhere = std::string(root_) + "/elsewhere";
  ASSERT_EQ(::mkdir(elsewhere.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(elsewhere.c_str(), folders_[0].c_str()), 0);
  const auto socket = open_session_socket({folders_[0]}, id_);
  ASSERT_FALSE(socket.has_value());
  EXPECT_THAT(socket.error().message, HasSubstr(folders_[0]));
}

TEST_F(SessionSocketTest, PathsMayBeLongerThanASocketAddress) {
  const std::string deep = std::string(root_) + "/" + std::string(200, 'd');
  const auto socket = open_session_socket({deep}, id_);
  ASSERT_TRUE(socket.has_value()) << socket.error().message;
  EXPECT_TRUE(find_session({deep}, id_).connection.valid());
}

TEST_F(SessionSocketTest, TheLastWordIsFoundOnce) {
  { const auto socket = open_session_socket(folders_, id_); }  // as a killed agent leaves it
  record_session_end(folders_, id_, "its agent was killed by SIGKILL");
  const SessionFound found = find_session(folders_, id_);
  EXPECT_EQ(found.gone, "its agent was killed by SIGKILL");
  EXPECT_TRUE(found.certain);
  EXPECT_FALSE(find_session(folders_, id_).certain);
  EXPECT_TRUE(std::filesystem::is_empty(folders_[0]));
}

TEST_F(SessionSocketTest, NoWordIsLeftWhereThereWasNoSocket) {
  ASSERT_EQ(::mkdir(folders_[0].c_str(), 0700), 0);
  record_session_end(folders_, id_, "no launcher looks for it");
  EXPECT_TRUE(std::filesystem::is_empty(folders_[0]));
}

TEST_F(SessionSocketTest, AGuardianThatIsStillEndingThingsIsWaitedFor) {
  { const auto socket = open_session_socket(folders_, id_); }
  std::thread guardian([this] { record_session_end(folders_, id_, "its agent was stopped"); });
  EXPECT_EQ(find_session(folders_, id_).gone, "its agent was stopped");
  guardian.join();
}

TEST_F(SessionSocketTest, ASocketWithoutAnAgentIsNotWaitedForForever) {
  { const auto socket = open_session_socket(folders_, id_); }
  const SessionFound found = find_session(folders_, id_);
  EXPECT_EQ(found.gone, "its agent and its guardian were killed, or are stopped");
  EXPECT_TRUE(found.certain);
}

TEST_F(SessionSocketTest, AnAgentThatIsStoppedIsNotGone) {
  const auto socket = open_session_socket(folders_, id_);
  ASSERT_TRUE(socket.has_value());
  std::vector<UniqueFd> queue;  // of connections that were not accepted
  SessionFound found = find_session(folders_, id_);
  for (int i = 0; i < 32 && found.connection.valid(); ++i) {
    queue.push_back(std::move(found.connection));
    found = find_session(folders_, id_);
  }
  EXPECT_FALSE(found.connection.valid());
  EXPECT_EQ(found.gone, "its agent is stopped");
  EXPECT_FALSE(found.certain);
}

TEST_F(SessionSocketTest, ALoginWithOtherFoldersFindsTheAgent) {
  const UniqueFd listener = open_abstract_socket(id_);
  ASSERT_TRUE(listener.valid());
  EXPECT_TRUE(find_session({}, id_).connection.valid());
  EXPECT_FALSE(find_session({}, {0xff, 4}).connection.valid());
}

/// Another user of the node, who knows all names, binds the listeners in a child process until
/// released, with a full queue.
class AnotherUser : public SessionSocketTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  }
  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }
  void bind_name(const std::string& name) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    child_ = ::fork();
    if (child_ == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
      sockaddr_un at{};
      at.sun_family = AF_UNIX;
      name.copy(at.sun_path + 1, sizeof at.sun_path - 1);
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
      const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
      if (::bind(listener, reinterpret_cast<sockaddr*>(&at), size) != 0) ::_exit(2);
      if (::listen(listener, 0) != 0) ::_exit(3);
      while (::connect(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0),
                       reinterpret_cast<sockaddr*>(&at), size) == 0) {
      }
      (void)!::write(ready[1], "r", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1) << "it could not bind the name";
    ::close(ready[0]);
  }
  std::string name() const { return "dlaunch-" + session_name(id_); }

  pid_t child_ = 0;
};

TEST_F(AnotherUser, DoesNotLookLikeTheLostAgent) {
  for (const char* rest : {"", "-", "-0123456789abcdef"}) {
    bind_name(name() + rest);
    EXPECT_FALSE(session_exists(folders_, id_)) << rest;
    EXPECT_TRUE(wait_for_session_end(folders_, id_)) << rest;
    const SessionFound found = find_session(folders_, id_);
    EXPECT_FALSE(found.connection.valid()) << rest;
    EXPECT_FALSE(found.certain) << rest;
    TearDown();
  }
}

TEST_F(AnotherUser, WhoWasThereFirstDoesNotHideTheAgent) {
  bind_name(name() + "-0000000000000000");
  const UniqueFd listener = open_abstract_socket(id_);
  ASSERT_TRUE(listener.valid());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(find_session({}, id_).connection.valid());
  EXPECT_TRUE(session_exists({}, id_));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(SessionSocketTest, WhereThereIsNoTraceNothingIsCertain) {
  const SessionFound found = find_session(folders_, id_);
  EXPECT_FALSE(found.certain);
  EXPECT_THAT(found.gone, HasSubstr("no trace"));
}

/// attach_main() in a child process, an AttachSocket in this one.
class Attach : public SessionSocketTest {
 protected:
  Attach() {
    ::setenv("XDG_CACHE_HOME", root_, 1);
    ::unsetenv("XDG_RUNTIME_DIR");
    EXPECT_TRUE(point_.open().has_value());
  }
  ~Attach() override { point_.close(); }

  struct Brought {
    pid_t pid = 0;
    UniqueFd to;    // what the launcher writes
    UniqueFd from;  // what it reads
  };
  Brought bring(SessionId id) {
    Pipe in = *make_pipe();
    Pipe out = *make_pipe();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(in.read.get(), 0);
      ::dup2(out.write.get(), 1);
      in = {};
      out = {};
      ::_exit(attach_main(id, "@marker"));
    }
    return {pid, std::move(in.write), std::move(out.read)};
  }
  template <class Message>
  static void say(const Brought& brought, const Message& message, SessionId id) {
    wire::Frame frame = wire::encode(message);
    frame.session = id.session;
    frame.node = id.node;
    std::string bytes;
    wire::append_frame(frame, bytes);
    EXPECT_EQ(::write(brought.to.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  static std::string line_from(const Brought& brought) {
    std::string line;
    char c = 0;
    while (::read(brought.from.get(), &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  bool wait_for_arrivals(std::size_t count) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (arrived_.size() < count && loop_.run_one(end)) {
    }
    return arrived_.size() == count;
  }
  /// Runs the loop until the other end is closed.
  bool wait_for_session_end(const Brought& brought) {
    WatchedFd from(loop_, duplicate(brought.from.get()));
    bool ended = false;
    from.on_readable([&] { ended = true; });
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!ended && loop_.run_one(end)) {
    }
    char byte = 0;
    return ended && ::read(from.get(), &byte, 1) == 0;
  }
  static int code_of(const Brought& brought) {
    int status = 0;
    EXPECT_EQ(::waitpid(brought.pid, &status, 0), brought.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  EventLoop loop_;
  std::vector<NewConnection> arrived_;
  AttachSocket point_{loop_, id_,
                      [this](NewConnection one) { arrived_.push_back(std::move(one)); }};
};

TEST_F(Attach, BringsDescriptorsAndStaysUntilItIsLetGo) {
  const Brought brought = bring(id_);
  EXPECT_EQ(line_from(brought), "@marker ready");
  say(brought, wire::Resume{2, 7}, id_);
  ASSERT_TRUE(wait_for_arrivals(1));
  EXPECT_EQ(arrived_[0].resume, (wire::Resume{2, 7}));
  EXPECT_EQ(::write(arrived_[0].write.get(), "hello\n", 6), 6);
  EXPECT_EQ(line_from(brought), "hello");
  EXPECT_EQ(::waitpid(brought.pid, nullptr, WNOHANG), 0) << "it went before it was let go";
  arrived_.clear();
  EXPECT_EQ(code_of(brought), 0);
  EXPECT_EQ(line_from(brought), "") << "and its stdout ends with it";
}

TEST_F(Attach, OnlyALaterConnectionCounts) {
  const Brought later = bring(id_);
  say(later, wire::Resume{3, 0}, id_);
  ASSERT_TRUE(wait_for_arrivals(1));
  const Brought stale = bring(id_);
  EXPECT_EQ(line_from(stale), "@marker ready");
  say(stale, wire::Resume{2, 0}, id_);
  EXPECT_TRUE(wait_for_session_end(stale));
  EXPECT_EQ(code_of(stale), 0);
  EXPECT_EQ(arrived_.size(), 1U);
  arrived_.clear();
  EXPECT_EQ(code_of(later), 0);
}

TEST_F(Attach, WhoSaysSomethingElseIsSentAway) {
  const Brought other_session = bring(id_);
  EXPECT_EQ(line_from(other_session), "@marker ready");
  say(other_session, wire::Resume{2, 0}, {0xfe, 3});
  EXPECT_TRUE(wait_for_session_end(other_session));
  const Brought no_resume = bring(id_);
  EXPECT_EQ(line_from(no_resume), "@marker ready");
  say(no_resume, wire::Bye{}, id_);
  EXPECT_TRUE(wait_for_session_end(no_resume));
  EXPECT_EQ(code_of(other_session), 0);
  EXPECT_EQ(code_of(no_resume), 0);
  EXPECT_TRUE(arrived_.empty());
}

TEST_F(Attach, NothingBehindTheResumeIsReadTooEarly) {
  const Brought brought = bring(id_);
  say(brought, wire::Resume{2, 0}, id_);
  EXPECT_EQ(::write(brought.to.get(), "next", 4), 4);
  ASSERT_TRUE(wait_for_arrivals(1));
  char bytes[8];
  EXPECT_EQ(::read(arrived_[0].read.get(), bytes, sizeof bytes), 4);
  arrived_.clear();
  EXPECT_EQ(code_of(brought), 0);
}

TEST_F(Attach, ASessionWithoutATraceIsSaidAtOnce) {
  const Brought brought = bring({1, 1});
  EXPECT_THAT(line_from(brought), testing::StartsWith("@marker hidden no trace of its agent"));
  EXPECT_EQ(code_of(brought), kSessionHidden);
}

TEST_F(Attach, ASessionThatHasEndedIsSaidAtOnce) {
  const SessionId id{7, 7};
  { const auto socket = open_session_socket(session_folders(), id); }
  record_session_end(session_folders(), id, "its agent was killed by SIGKILL");
  const Brought brought = bring(id);
  EXPECT_EQ(line_from(brought), "@marker gone its agent was killed by SIGKILL");
  EXPECT_EQ(code_of(brought), kSessionGone);
}

/// An agent that sends a farewell to its first client; its guardian ends when `hold` has a byte.
pid_t fork_guardian(SessionId id, const Pipe& hold, const Pipe& listens) {
  const pid_t guardian = ::fork();
  if (guardian != 0) return guardian;
  if (::fork() == 0) {
    const UniqueFd listener = open_abstract_socket(id);
    (void)!::write(listens.write.get(), ".", 1);
    pollfd guest{listener.get(), POLLIN, 0};
    ::poll(&guest, 1, -1);
    const UniqueFd keeper(::accept(listener.get(), nullptr, nullptr));
    char brought = 0;  // sent with the descriptors; only then does a client wait for a farewell
    (void)!::read(keeper.get(), &brought, 1);
    (void)!::write(keeper.get(), &kFarewell, 1);
    ::_exit(0);
  }
  char byte = 0;
  (void)!::read(hold.read.get(), &byte, 1);
  ::_exit(0);
}

TEST_F(Attach, AfterAFarewellItWaitsForTheGuardian) {
  const SessionId id{8, 8};
  Pipe hold = *make_pipe();
  Pipe listens = *make_pipe();
  const UniqueFd guardian(open_pidfd(fork_guardian(id, hold, listens)));
  char byte = 0;
  ASSERT_EQ(::read(listens.read.get(), &byte, 1), 1);
  const Brought brought = bring(id);
  EXPECT_EQ(line_from(brought), "@marker ready");
  const UniqueFd attach(open_pidfd(brought.pid));
  pollfd early{attach.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&early, 1, 200), 0) << "it ended before the guardian";
  ASSERT_EQ(::write(hold.write.get(), ".", 1), 1);
  EXPECT_EQ(code_of(brought), 0);
  pollfd end{guardian.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 0), 1);
}

}  // namespace
}  // namespace dlaunch
