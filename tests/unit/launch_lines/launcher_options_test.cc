// The table of other launchers' options.
#include "jobfile/launch_lines/launcher_options.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/field_table.h"

namespace dlaunch::jobfile {
namespace {

TEST(LauncherOptions, HasEachNameOnceForALauncher) {
  std::set<std::pair<std::string_view, Launchers>> seen;
  for (const LauncherOption& option : launcher_options()) {
    for (Launchers one = 1; one < launcher::kAll; one *= 2) {
      if ((option.launchers & one) == 0) continue;
      EXPECT_TRUE(seen.emplace(option.name, one).second)
          << option.name << " of " << name_of_launcher(one);
    }
    EXPECT_EQ(option.name.find_first_of("_="), std::string_view::npos) << option.name;
  }
}

TEST(LauncherOptions, BecomeKeysOfTheJobFile) {
  const std::set<std::string_view> options_only{"gpus", "include", "exclude"};
  for (const LauncherOption& option : launcher_options()) {
    if (option.becomes != Becomes::key) continue;
    EXPECT_TRUE(options_only.contains(option.text) || find_field(option.text) != nullptr)
        << option.name << " becomes " << option.text;
  }
}

TEST(LauncherOptions, SayWhyWhatIsLeftOut) {
  for (const LauncherOption& option : launcher_options()) {
    const bool is_left_out = is_advice(option.becomes) ||
                             option.becomes == Becomes::shows || option.becomes == Becomes::program;
    if (is_left_out) {
      EXPECT_FALSE(option.text.empty()) << option.name;
    }
  }
}

TEST(LauncherOptions, AreFoundByNameAndLauncher) {
  EXPECT_EQ(find_launcher_option("N", launcher::kAll), nullptr) << "two meanings";
  EXPECT_EQ(find_launcher_option("N", launcher::kSrun)->becomes, Becomes::nodes);
  EXPECT_EQ(find_launcher_option("N", launcher::kOpenMpi)->becomes, Becomes::per_node);
  EXPECT_EQ(launchers_with("N"), launcher::kSrun | launcher::kOpenMpi);
  EXPECT_EQ(launchers_with("no-such"), 0U);
}

TEST(LauncherOptions, AreNamedWithDashesOrUnderscores) {
  EXPECT_EQ(option_name("--master_port=29500"), "master-port");
  EXPECT_EQ(option_name("-np"), "np");
  EXPECT_EQ(option_name("---x"), "");
  EXPECT_EQ(option_name("--"), "");
  EXPECT_EQ(option_name("train.py"), "");
}

TEST(LauncherOptions, ReadTheTimeLimitsOfSlurm) {
  EXPECT_EQ(limit_of_slurm("90"), "1h30m");
  EXPECT_EQ(limit_of_slurm("5:30"), "5m30s");
  EXPECT_EQ(limit_of_slurm("02:00:00"), "2h");
  EXPECT_EQ(limit_of_slurm("1-12"), "1d12h");
  EXPECT_EQ(limit_of_slurm("1-00:08:09"), "1d8m9s");
  EXPECT_EQ(limit_of_slurm("2h"), "2h") << "dlaunch's own form";
  for (const char* none : {"UNLIMITED", "infinite", "0", "0:00", "0-0"})
    EXPECT_EQ(limit_of_slurm(none), "none");
  for (const char* wrong : {"", "soon", "1:2:3:4", "-5", "1-"})
    EXPECT_EQ(limit_of_slurm(wrong), wrong);
}

}  // namespace
}  // namespace dlaunch::jobfile
