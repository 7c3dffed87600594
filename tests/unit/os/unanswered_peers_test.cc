#include "os/unanswered_peers.h"

#include <bit>

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

// As Linux 6.1 prints it on a little-endian machine, of a gloo program whose link to 10.77.0.2 was
// cut.
constexpr const char* kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 "
    "1 0\n"
    "   1: 01004D0A:A3E2 02004D0A:9C41 01 00000018:00000000 01:00000203 00000005  1000        0 12 "
    "2 0\n"
    "   2: 01004D0A:A3E4 03004D0A:9C42 01 00000018:00000000 01:00000014 00000001  1000        0 13 "
    "2 0\n"
    "   3: 01004D0A:A3E6 02004D0A:7149 02 00000001:00000000 01:00000203 00000004  1000        0 14 "
    "2 0\n"
    "   4: 01004D0A:A3E8 02004D0A:7149 04 00000001:00000000 01:00000203 00000009  1000        0 0 "
    "2 0\n";
constexpr const char* kTable6 =
    "   0: 0000000000000000FFFF000001004D0A:A3E2 0000000000000000FFFF000002004D0A:9C41 01 "
    "00000018:00000000 01:00000203 00000006  1000        0 21 2 0\n"
    "   1: 000000FD000000000000000001000000:A3E2 000000FD000000000000000002000000:9C41 01 "
    "00000018:00000000 01:00000203 00000006  1000        0 22 2 0\n";

TEST(UnansweredPeers, ThoseToWhichTheKernelHasSentMoreThanTwice) {
  if (std::endian::native != std::endian::little)
    GTEST_SKIP() << "the table is a little-endian machine's";
  EXPECT_THAT(unanswered_in(kTable),
              UnorderedElementsAre(Pair(12, "10.77.0.2"), Pair(14, "10.77.0.2")));
  EXPECT_THAT(unanswered_in(kTable6),
              UnorderedElementsAre(Pair(21, "10.77.0.2"), Pair(22, "fd00::2")));
  EXPECT_THAT(unanswered_in(""), testing::IsEmpty());
  EXPECT_THAT(unanswered_in("   1: 01004D0A:A3E2 xx 01 0:0 01:0 00000005 0 0 12"),
              testing::IsEmpty());
}

TEST(UnansweredPeers, OfAProcessThatIsNotThereNone) {
  EXPECT_THAT(UnansweredPeers().of(-1), testing::IsEmpty());
}

}  // namespace
}  // namespace dlaunch
