#include "node/session/lease.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using std::chrono::seconds;

TEST(Lease, CountsFromTheHeartbeatThatWasHeardNotFromItsAnswer) {
  Lease lease(seconds(10), seconds(1), seconds(100));
  EXPECT_EQ(lease.end(), seconds(110));
  lease.confirm(seconds(103));
  EXPECT_EQ(lease.end(), seconds(113));
  lease.confirm(seconds(102));  // an answer that was overtaken
  EXPECT_EQ(lease.end(), seconds(113));
}

TEST(Lease, WhoWasStoppedGetsOneBeatForAFreshAnswer) {
  Lease lease(seconds(10), seconds(1), seconds(100));
  lease.still_here(seconds(101));
  lease.still_here(seconds(130));  // stopped for 29 s
  EXPECT_EQ(lease.end(), seconds(131));
  lease.confirm(seconds(130));
  EXPECT_EQ(lease.end(), seconds(140));
}

TEST(Lease, ALateTurnOrTwoDoNotProlongIt) {
  Lease lease(seconds(10), seconds(1), seconds(100));
  for (int now = 102; now <= 110; now += 2) lease.still_here(seconds(now));
  EXPECT_EQ(lease.end(), seconds(110));
}

TEST(Lease, TheGraceIsGivenOnceForEachStop) {
  Lease lease(seconds(10), seconds(1), seconds(100));
  lease.still_here(seconds(130));
  lease.still_here(seconds(131));
  EXPECT_EQ(lease.end(), seconds(131));  // over now
}

TEST(Lease, StopsInARowDoNotProlongItForEver) {
  Lease lease(seconds(10), seconds(1), seconds(100));
  for (int now = 103; now <= 130; now += 3) lease.still_here(seconds(now));
  EXPECT_EQ(lease.end(), seconds(110));
}

TEST(Lease, AfterAFreshAnswerTheNextStopGetsItsGrace) {
  Lease lease(seconds(10), seconds(1), seconds(100));
  lease.still_here(seconds(130));
  lease.confirm(seconds(105));  // from before the stop
  lease.still_here(seconds(133));
  EXPECT_EQ(lease.end(), seconds(131));
  lease.confirm(seconds(130));
  lease.still_here(seconds(160));
  EXPECT_EQ(lease.end(), seconds(161));
}

}  // namespace
}  // namespace dlaunch
