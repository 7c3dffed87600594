#include "node/ranks/carried_environment.h"

#include <gtest/gtest.h>

#include <set>

namespace dlaunch {
namespace {

// docs/reference/nodes.md, "Environment": on other nodes the login environment there, with PATH,
// LD_LIBRARY_PATH, VIRTUAL_ENV, CONDA_* of the launcher where the folders exist.
class CarriedEnvironment : public testing::Test {
 protected:
  Environment carry(const Environment& login, const Environment& carried) {
    return carried_environment(login, carried, "/job",
                               [this](const std::string& path) { return folders_.contains(path); });
  }
  std::set<std::string> folders_{
      "/bin",  "/opt/conda/bin", "/opt/conda",        "/job/tools",
      "/job/", "/home/me/venv",  "/home/me/venv/bin", "/usr/local/cuda/lib64"};
};

TEST_F(CarriedEnvironment, PathEntriesThatExistComeFirstAndOnce) {
  const Environment env = carry({{"PATH", "/usr/bin:/bin"}, {"HOME", "/home/me"}},
                                {{"PATH", "/home/me/venv/bin:/gone/bin:/bin:/opt/conda/bin:/bin"}});
  EXPECT_EQ(env, (Environment{{"PATH", "/home/me/venv/bin:/bin:/opt/conda/bin:/usr/bin"},
                              {"HOME", "/home/me"}}));
}

TEST_F(CarriedEnvironment, RelativeEntriesAreMeantFromTheWorkdir) {
  // An empty entry is the current folder (POSIX XBD 8.3), and ranks start in the workdir.
  EXPECT_EQ(carry({{"PATH", "/bin"}}, {{"PATH", "tools:other:"}}).at("PATH"), "tools::/bin");
}

TEST_F(CarriedEnvironment, AVariableOfWhichNothingExistsStaysAsItIs) {
  EXPECT_EQ(carry({}, {{"LD_LIBRARY_PATH", "/gone/lib"}}), Environment{});
  EXPECT_EQ(carry({{"LD_LIBRARY_PATH", "/own"}}, {{"LD_LIBRARY_PATH", "/gone"}}),
            (Environment{{"LD_LIBRARY_PATH", "/own"}}));
  EXPECT_EQ(carry({}, {{"LD_LIBRARY_PATH", "/usr/local/cuda/lib64"}}),
            (Environment{{"LD_LIBRARY_PATH", "/usr/local/cuda/lib64"}}));
  EXPECT_EQ(carry({{"PATH", "/x:/y"}}, {}), (Environment{{"PATH", "/x:/y"}}));
}

TEST_F(CarriedEnvironment, AVirtualEnvironmentIsTakenWholeOrNotAtAll) {
  const Environment here{{"VIRTUAL_ENV", "/home/me/venv"}, {"VIRTUAL_ENV_PROMPT", "venv"}};
  EXPECT_EQ(carry({{"VIRTUAL_ENV", "/other"}}, here), here);
  EXPECT_EQ(carry({{"VIRTUAL_ENV", "/other"}}, {{"VIRTUAL_ENV", "/gone"}}),
            (Environment{{"VIRTUAL_ENV", "/other"}}));
}

TEST_F(CarriedEnvironment, CondaIsTakenWholeWithItsPrefix) {
  const Environment here{{"CONDA_PREFIX", "/opt/conda"}, {"CONDA_DEFAULT_ENV", "base"}};
  EXPECT_EQ(carry({{"CONDA_PREFIX", "/own"}, {"CONDA_SHLVL", "2"}}, here), here);
  const Environment own{{"CONDA_PREFIX", "/own"}, {"CONDA_SHLVL", "2"}};
  EXPECT_EQ(carry(own, {{"CONDA_PREFIX", "/gone"}, {"CONDA_DEFAULT_ENV", "x"}}), own);
  EXPECT_EQ(carry(own, {{"CONDA_EXE", "/opt/conda/bin/conda"}}), own);
  // A relative folder cannot be known to be the same folder.
  EXPECT_EQ(carry(own, {{"CONDA_PREFIX", "tools"}}), own);
}

TEST_F(CarriedEnvironment, NothingElseIsTaken) {
  EXPECT_EQ(carry({}, {{"LD_PRELOAD", "/bin"}, {"PYTHONPATH", "/bin"}}), Environment{});
}

}  // namespace
}  // namespace dlaunch
