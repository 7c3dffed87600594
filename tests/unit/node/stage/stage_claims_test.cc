#include "node/stage/stage_claims.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class StageClaimsTest : public testing::Test {
 protected:
  StageClaimsTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    env_ = {{"HOME", base_}};
  }
  ~StageClaimsTest() override { fs::remove_all(base_); }

  /// Who has it; "": the claim was made.
  static std::string claim(StageClaims& claims, const std::string& by, const std::string& target) {
    const auto other = claims.claim(by, {target});
    return other ? other->by + ": " + other->target : "";
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(std::string(base_) + "/.cache/dlaunch/claims"))
      count += entry.path().filename().string().ends_with("turn") ? 0 : 1;
    return count;
  }

  char base_[32] = "/tmp/dlaunch-claims-XXXXXX";
  Environment env_;
};

TEST_F(StageClaimsTest, OneStagesATargetAtATime) {
  StageClaims a(env_);
  StageClaims b(env_);
  EXPECT_EQ(claim(a, "run a", "/local/data"), "");
  EXPECT_EQ(claim(b, "run b", "/local/data"), "run a: /local/data");
  EXPECT_EQ(claim(b, "run b", "/local/data/in/it"), "run a: /local/data/in/it");
  EXPECT_EQ(claim(b, "run b", "/local"), "run a: /local");
  EXPECT_EQ(claim(b, "run b", "/local/database"), "");
  EXPECT_EQ(claim(a, "run a", "/local/data"), "") << "its own one does not count";
  EXPECT_EQ(claim(b, "run a", "/local/data"), "") << "another node of the same staging";
  a.release();
  b.release();
  EXPECT_EQ(files(), 0U);
  struct stat info {};
  ASSERT_EQ(::stat((std::string(base_) + "/.cache/dlaunch/claims").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(StageClaimsTest, ManyUseATargetAtATime) {
  StageClaims a(env_);
  StageClaims b(env_);
  StageClaims c(env_);
  EXPECT_EQ(claim(a, "run a", "/local/data"), "");
  EXPECT_THAT(c.users_of("/local/data"), IsEmpty()) << "it is being staged";
  a.use();
  EXPECT_EQ(claim(b, "run b", "/local/data"), "");
  b.use();
  EXPECT_EQ(claim(c, "run c", "/local/data/in/it"), "");
  EXPECT_THAT(c.users_of("/local/data/in/it"), ElementsAre("run a", "run b"));
  EXPECT_THAT(c.users_of("/local"), ElementsAre("run a", "run b"));
  EXPECT_THAT(c.users_of("/local/other"), IsEmpty());
  EXPECT_THAT(a.users_of("/local/data"), ElementsAre("run b")) << "not itself";
  a.release();
  EXPECT_THAT(c.users_of("/local/data"), ElementsAre("run b"));
}

TEST_F(StageClaimsTest, WhatIsUsedStaysWhenTheSameRunStagesMore) {
  StageClaims a(env_);
  StageClaims b(env_);
  EXPECT_EQ(claim(a, "run a", "/local/data"), "");
  a.use();
  EXPECT_EQ(claim(a, "run a", "/local/more"), "");
  EXPECT_EQ(claim(b, "run b", "/local/data"), "");
  EXPECT_THAT(b.users_of("/local/data"), ElementsAre("run a"));
  a.give_up();
  EXPECT_THAT(b.users_of("/local/data"), ElementsAre("run a"));
  a.use();
  a.release();
  EXPECT_THAT(b.users_of("/local/data"), IsEmpty());
  b.release();
  EXPECT_EQ(files(), 0U);
}

TEST_F(StageClaimsTest, TwoPathsToOnePlaceAreTheSame) {
  fs::create_directories(std::string(base_) + "/disk");
  fs::create_symlink("disk", std::string(base_) + "/local");
  StageClaims a(env_);
  StageClaims b(env_);
  EXPECT_EQ(claim(a, "run a", std::string(base_) + "/disk/data"), "");
  const std::string other = std::string(base_) + "/local/data/";
  EXPECT_EQ(claim(b, "run b", other), "run a: " + other);
}

TEST_F(StageClaimsTest, TheKernelDropsTheClaimOfADeadAgent) {
  int told[2];
  ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    StageClaims claims(env_);
    const char made = claim(claims, "run a", "/local/data").empty() ? 1 : 0;
    claims.use();
    (void)!::write(told[1], &made, 1);
    ::pause();
  }
  char made = 0;
  ASSERT_EQ(::read(told[0], &made, 1), 1);
  EXPECT_EQ(made, 1);
  StageClaims b(env_);
  EXPECT_THAT(b.users_of("/local/data"), ElementsAre("run a"));
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  ::close(told[0]);
  ::close(told[1]);
  EXPECT_THAT(b.users_of("/local/data"), IsEmpty());
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(claim(b, "run b", "/local/data"), "");
  EXPECT_EQ(files(), 1U) << "the dead one's file is gone";
}

TEST_F(StageClaimsTest, WithoutAHomeFolderNothingIsClaimed) {
  StageClaims a({});
  StageClaims b({});
  EXPECT_EQ(claim(a, "run a", "/local/data"), "");
  EXPECT_EQ(claim(b, "run b", "/local/data"), "");
  a.use();
  EXPECT_THAT(b.users_of("/local/data"), IsEmpty());
}

}  // namespace
}  // namespace dlaunch
