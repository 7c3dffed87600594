#include "text/duration_text.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(DurationText, FitsItsSize) {
  EXPECT_EQ(duration_text(milliseconds(4)), "4 ms");
  EXPECT_EQ(duration_text(milliseconds(20)), "20 ms");
  EXPECT_EQ(duration_text(milliseconds(300)), "300 ms");
  EXPECT_EQ(duration_text(milliseconds(12400)), "12.4 s");
  EXPECT_EQ(duration_text(minutes(3) + seconds(12)), "3 min 12 s");
  EXPECT_EQ(duration_text(minutes(3) + seconds(2)), "3 min 02 s");
  EXPECT_EQ(duration_text(hours(2) + minutes(5) + seconds(59)), "2 h 05 min");
  EXPECT_EQ(duration_text(hours(30)), "30 h 00 min");
}

TEST(DurationText, RoundsIntoTheNextUnit) {
  EXPECT_EQ(duration_text(microseconds(9'600)), "10 ms");
  EXPECT_EQ(duration_text(microseconds(99'600)), "100 ms");
  EXPECT_EQ(duration_text(microseconds(999'600)), "1.0 s");
  EXPECT_EQ(duration_text(milliseconds(59'960)), "1 min 00 s");
  EXPECT_EQ(duration_text(milliseconds(3'599'600)), "1 h 00 min");
}

TEST(DurationText, NothingIsZero) {
  EXPECT_EQ(duration_text(microseconds(0)), "0 s");
  EXPECT_EQ(duration_text(microseconds(499)), "1 ms") << "something has happened";
  EXPECT_EQ(duration_text(seconds(-3)), "0 s");
}

}  // namespace
}  // namespace dlaunch
