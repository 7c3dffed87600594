#include "node/preemption/notice.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const WallTime kNow{std::chrono::sys_days(std::chrono::year(2026) / 11 / 26)};

TEST(ParseNotice, TakesTheReasonAndTheTimeFromLinesInAnyOrder) {
  EXPECT_EQ(parse_notice("Preempt\ndeadline: 30\n", kNow), (Notice{"Preempt", seconds(30)}));
  EXPECT_EQ(parse_notice("deadline: 1.5\n\n  Spot  \n", kNow),
            (Notice{"Spot", milliseconds(1500)}));
  EXPECT_EQ(parse_notice("deadline: 2026-11-26T00:02:00Z", kNow), (Notice{"", seconds(120)}));
  EXPECT_EQ(parse_notice("a\r\nb\ndeadline: 1\ndeadline: 2\n", kNow), (Notice{"a", seconds(1)}));
}

TEST(ParseNotice, WithoutAnyOfThemItIsANoticeStill) {
  EXPECT_EQ(parse_notice("", kNow), Notice{});
  EXPECT_EQ(parse_notice("\n\n", kNow), Notice{});
}

TEST(ParseNotice, ATimeThatCannotBeReadIsUnknown) {
  for (const char* value : {"soon", "-3", "", "1e999", "nan", "2026-13-01T00:00:00Z", "12 s"})
    EXPECT_EQ(parse_notice(std::string("x\ndeadline: ") + value, kNow), (Notice{"x", {}})) << value;
}

TEST(ParseNotice, ATimeThatHasPassedIsNow) {
  EXPECT_EQ(parse_notice("deadline: 2026-11-25T00:00:00Z", kNow).left, milliseconds(0));
  EXPECT_GT(parse_notice("deadline: 1e300", kNow).left, std::chrono::hours(1000));
}

TEST(ParseNotice, TheReasonIsSafeAndShort) {
  EXPECT_EQ(parse_notice("\x1b[31mred", kNow).reason, "red");
  EXPECT_EQ(parse_notice(std::string(9000, 'x'), kNow).reason.size(), 200U);
}

}  // namespace
}  // namespace dlaunch
