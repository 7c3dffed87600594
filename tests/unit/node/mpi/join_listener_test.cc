// JoinListener and join_run with real processes: children of this test in place of mpirun's.
#include "node/mpi/join_listener.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/mpi/join_run.h"
#include "os/clock.h"
#include "os/signals.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;

constexpr int kRefused = 71;  // of a child to which join_run() returns an Error

class JoinListenerTest : public testing::Test {
 protected:
  JoinListenerTest() {
    block_signals({SIGPIPE});
    EXPECT_NE(::mkdtemp(base_), nullptr);
    folder_ = std::string(base_) + "/own/join-1";
  }
  ~JoinListenerTest() override {
    for (const pid_t child : children_) ::kill(child, SIGKILL);
    for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
    fs::remove_all(base_);
  }

  /// A process in place of the rank.
  pid_t stand_in(std::uint32_t rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Error error =
          join_run(folder_, {{"PMI_RANK", std::to_string(rank)}, {"HOME", "/home/eve"}});
      ::_exit(error.message.find("it is here already") == std::string::npos ? 1 : kRefused);
    }
    children_.insert(child);
    return child;
  }
  bool run_until(const std::function<bool()>& done) {
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(20);
    while (!done() && loop_.run_one(end)) {
    }
    return done();
  }
  /// waitpid(2)'s status.
  int end_of(pid_t child) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    children_.erase(child);
    return status;
  }

  char base_[32] = "/tmp/join-point-XXXXXX";
  std::string folder_;
  EventLoop loop_;
  std::map<std::uint32_t, Joining> joined_;
  std::set<std::uint32_t> left_;
  int came_ = 0;  // also those that are refused
  std::set<pid_t> children_;
  JoinListener point_{loop_,
                      {[this](const Joining& joining, const UniqueFd& pmi) {
                         EXPECT_EQ(pmi.valid(), joining.has_pmi);
                         ++came_;
                         const bool is_new = joined_.emplace(joining.rank.value, joining).second;
                         return is_new ? std::string() : std::string("it is here already");
                       },
                       [this](Rank rank) { left_.insert(rank.value); }}};
};

TEST_F(JoinListenerTest, TheFolderIsOursAlone) {
  ASSERT_TRUE(point_.open(folder_));
  for (const fs::path& path : {fs::path(folder_), fs::path(folder_).parent_path()}) {
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0700U) << path;
  }
  EXPECT_EQ(fs::read_symlink(folder_ + "/dlaunch"), fs::read_symlink("/proc/self/exe"));
  fs::create_directories(folder_ + "/ompi.host.0/pid.7");  // that an mpirun has left
  point_.remove();
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(JoinListenerTest, AnExistingFolderIsNotUsed) {
  fs::create_directories(folder_);
  fs::permissions(fs::path(folder_).parent_path(), fs::perms::owner_all);
  const auto taken = point_.open(folder_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().error_number, EEXIST);
  EXPECT_TRUE(fs::exists(folder_)) << "nor taken away";
  fs::permissions(fs::path(folder_).parent_path(), fs::perms::all);
  const auto open_to_others = point_.open(folder_ + "2");
  ASSERT_FALSE(open_to_others);
  EXPECT_NE(describe(open_to_others.error()).find("own"), std::string::npos);
}

TEST_F(JoinListenerTest, AStandInHandsOverAndEndsAsItsRank) {
  ASSERT_TRUE(point_.open(folder_));
  const pid_t one = stand_in(1);
  const pid_t two = stand_in(2);
  ASSERT_TRUE(run_until([&] { return joined_.size() == 2; }));
  EXPECT_EQ(joined_.at(1).variables, (Environment{{"PMI_RANK", "1"}}));
  EXPECT_EQ(joined_.at(1).parent, static_cast<std::uint32_t>(::getpid()));
  EXPECT_FALSE(joined_.at(1).cpus.empty());
  point_.answer(Rank(1), {{false, 3}, ""});
  point_.answer(Rank(2), {{true, SIGUSR1}, ""});
  point_.answer(Rank(9), {{false, 0}, ""});  // no such rank
  EXPECT_EQ(WEXITSTATUS(end_of(one)), 3);
  const int signalled = end_of(two);
  ASSERT_TRUE(WIFSIGNALED(signalled));
  EXPECT_EQ(WTERMSIG(signalled), SIGUSR1);
  point_.catch_up();
  EXPECT_TRUE(left_.empty()) << "they were told to end";
}

/// In either order of their arrival.
TEST_F(JoinListenerTest, ASecondOneForARankIsToldSoAndTheFirstStays) {
  ASSERT_TRUE(point_.open(folder_));
  const pid_t first = stand_in(1);
  ASSERT_TRUE(run_until([&] { return joined_.size() == 1; }));
  const pid_t second = stand_in(1);
  ASSERT_TRUE(run_until([&] { return came_ == 2; }));
  EXPECT_EQ(WEXITSTATUS(end_of(second)), kRefused);
  point_.catch_up();
  EXPECT_TRUE(left_.empty());
  point_.answer(Rank(1), {{false, 0}, ""});
  EXPECT_EQ(WEXITSTATUS(end_of(first)), 0);
}

TEST_F(JoinListenerTest, WhoEndsBeforeItsRankHasLeft) {
  ASSERT_TRUE(point_.open(folder_));
  const pid_t child = stand_in(1);
  ASSERT_TRUE(run_until([&] { return joined_.size() == 1; }));
  ::kill(child, SIGKILL);
  ASSERT_TRUE(run_until([&] { return left_.contains(1); }));
}

TEST_F(JoinListenerTest, AStandInWithoutAnAgent) {
  const pid_t child = stand_in(1);
  EXPECT_EQ(WEXITSTATUS(end_of(child)), 1);
}

TEST_F(JoinListenerTest, AStandInWhoseAgentGoesAway) {
  {
    JoinListener point(loop_, {[&](const Joining& joining, const UniqueFd&) {
                                 joined_.emplace(joining.rank.value, joining);
                                 return std::string();
                               },
                               [](Rank) {}});
    ASSERT_TRUE(point.open(folder_));
    stand_in(1);
    ASSERT_TRUE(run_until([&] { return joined_.size() == 1; }));
  }
  EXPECT_EQ(WEXITSTATUS(end_of(*children_.begin())), 1);
}

}  // namespace
}  // namespace dlaunch
