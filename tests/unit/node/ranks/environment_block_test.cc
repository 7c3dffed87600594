#include "node/ranks/environment_block.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

std::vector<std::string> strings(const EnvironmentBlock& block) {
  std::vector<std::string> out;
  for (const char* const* entry = block.pointers(); *entry != nullptr; ++entry)
    out.emplace_back(*entry);
  return out;
}

TEST(EnvironmentBlock, LaterLayersWinAndScrubbedNamesAreGone) {
  // docs/reference/job-file.md, "Environment": inherited, then shared, then the rank's own; the
  // scrub list removes only inherited variables.
  const EnvironmentBase base({{"A", "inherited"}, {"PMI_RANK", "9"}, {"PMI_FD", "3"}, {"Z", "z"}},
                             {"PMI_*", "A"}, {{"A", "default"}, {"B", "default"}, {"Z", "default"}},
                             {{"B", "shared"}, {"PMI_RANK", "0"}});
  const EnvironmentBlock block(base, {{"B", "own"}, {"C", ""}});
  EXPECT_EQ(strings(block),
            (std::vector<std::string>{"A=default", "B=own", "C=", "PMI_RANK=0", "Z=z"}));
}

TEST(EnvironmentBlock, SearchPathIsTheRanksOwn) {
  const EnvironmentBase base({{"PATH", "/inherited"}}, {}, {}, {{"PATH", "/shared"}});
  EXPECT_EQ(EnvironmentBlock(base, {}).search_path(), "/shared");
  EXPECT_EQ(EnvironmentBlock(base, {{"PATH", "/own"}}).search_path(), "/own");
  // Without PATH execvp(3) searches the system's default.
  EXPECT_EQ(EnvironmentBlock(EnvironmentBase({}, {}, {}, {}), {}).search_path(), "/bin:/usr/bin");
}

}  // namespace
}  // namespace dlaunch
