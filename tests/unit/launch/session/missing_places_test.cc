#include "launch/session/missing_places.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Step = StartFailure::Step;

class MissingPlacesTest : public testing::Test {
 protected:
  MissingPlacesTest() {
    for (const char* name : {"gpu01", "gpu02", "gpu03", "gpu04"}) {
      plan_.nodes.emplace_back().name = name;
      cluster_.nodes.emplace_back().name = name;
    }
    plan_.attempt = Attempt(1);
  }
  LaunchPlan plan_;
  Cluster cluster_;
  const StartFailure workdir_{Step::workdir, ENOENT, "/home/me/job", ""};
  const StartFailure python_{Step::execute, ENOENT, "python", "/usr/bin:/bin"};
  const StartFailure script_{Step::file, ENOENT, "/home/me/job/train.py", ""};
};

TEST_F(MissingPlacesTest, NothingIsMissing) {
  MissingPlaces missing(plan_, cluster_);
  for (std::uint32_t node = 0; node < 4; ++node) {
    EXPECT_FALSE(missing.complete());
    missing.add(NodeIndex(node), {Attempt(1), {}});
    missing.add(NodeIndex(0), {Attempt(1), {workdir_}});     // a second answer counts for nothing
    missing.add(NodeIndex(node), {Attempt(0), {workdir_}});  // nor one of an earlier attempt
  }
  EXPECT_TRUE(missing.complete());
  EXPECT_EQ(missing.error(), std::nullopt);
}

TEST_F(MissingPlacesTest, WhoHasNotAnsweredIsKnown) {
  MissingPlaces missing(plan_, cluster_);
  missing.add(NodeIndex(1), {Attempt(1), {}});
  EXPECT_EQ(missing.awaited(), "gpu[01,03-04]");
}

TEST_F(MissingPlacesTest, OneThingIsOneLine) {
  MissingPlaces missing(plan_, cluster_);
  for (std::uint32_t node = 1; node < 4; ++node)
    missing.add(NodeIndex(node), {Attempt(1), {workdir_}});
  EXPECT_EQ(missing.error(),
            (Error{126,
                   "gpu[02-04]: cannot enter the workdir \"/home/me/job\": No such file or "
                   "directory (it must be there on every node)"}));
}

TEST_F(MissingPlacesTest, AllThatIsMissingIsToldAtOnceGroupedByThing) {
  cluster_.nodes[3].facts.output_refused = "/var/tmp: No space left on device";
  MissingPlaces missing(plan_, cluster_);
  missing.add(NodeIndex(2), {Attempt(1), {python_}});
  missing.add(NodeIndex(0), {Attempt(1), {script_}});
  missing.add(NodeIndex(1), {Attempt(1), {python_, script_}});
  missing.add(NodeIndex(3), {Attempt(1), {}});
  EXPECT_TRUE(missing.complete());
  EXPECT_EQ(
      missing.error(),
      (Error{127,
             "nothing was started, because of"
             "\n         gpu[01-02]: cannot read \"/home/me/job/train.py\": No such file or "
             "directory"
             "\n         gpu[02-03]: cannot execute \"python\": No such file or directory"
             "\n         PATH there: /usr/bin:/bin"
             "\n         gpu04: no folder for the output of ranks: /var/tmp: No space left on "
             "device"}));
}

TEST_F(MissingPlacesTest, OnlyOtherMachinesAreAsked) {
  EXPECT_FALSE(needs_place_check(plan_));
  plan_.nodes[2].is_remote = true;
  EXPECT_TRUE(needs_place_check(plan_));
}

}  // namespace
}  // namespace dlaunch
