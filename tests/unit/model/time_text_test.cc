#include "model/time.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

// `date -u -d @1795208502` says 2026-11-20 21:01:42.
TEST(TimeText, WritesRfc3339) {
  EXPECT_EQ(time_text(WallTime(seconds(1795208502) + nanoseconds(123456789))),
            "2026-11-20T21:01:42.123456Z");
  EXPECT_EQ(time_text(WallTime{}), "1970-01-01T00:00:00.000000Z");
}

TEST(TimeText, KnowsLeapDays) {  // `date -u -d @1709164799`: 2024-02-28 23:59:59; +1: 2024-02-29
  EXPECT_EQ(time_text(WallTime(seconds(1709164800))), "2024-02-29T00:00:00.000000Z");
}

}  // namespace
}  // namespace dlaunch
