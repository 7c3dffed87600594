#include "measure/figures/settings.h"

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using testing::ElementsAre;

TEST(Settings, RoundTripThroughWords) {
  Settings settings;
  settings.set("op", std::string("sum"))
      .set("first", std::uint64_t{8})
      .set("odd", std::string("a=b c"));
  EXPECT_THAT(settings.words(), ElementsAre("first=8", "odd=a=b c", "op=sum"));
  const auto read = read_settings(settings.words());
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, settings);
  EXPECT_EQ(read->number("first"), 8U);
  EXPECT_EQ(read->text("odd"), "a=b c");
}

TEST(Settings, HaveDefaults) {
  const Settings settings;
  EXPECT_EQ(settings.number("n", 7), 7U);
  EXPECT_EQ(settings.text("t", "x"), "x");
  EXPECT_FALSE(settings.flag("f"));
  Settings odd;
  odd.set("n", std::string("12x")).set("empty", std::string());
  EXPECT_EQ(odd.number("n", 7), 7U);
  EXPECT_EQ(odd.number("empty", 7), 7U);
}

TEST(Settings, RefuseOtherWords) {
  EXPECT_FALSE(read_settings({"word"}));
  EXPECT_FALSE(read_settings({"=x"}));
  EXPECT_FALSE(read_settings({"a=1", "a=2"}));
}

}  // namespace
}  // namespace dlaunch::measure
