#include "measure/figures/check_records.h"

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Lines from NCCL's sources, see check_records.h.
constexpr const char* kInfiniBand =
    "n1:17:19 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB "
    "eth0:10.0.0.4<0>\n"
    "n1:17:19 [0] NCCL INFO Using network IB\n";
constexpr const char* kSocket =
    "n2:1482:1482 [0] NCCL INFO NET/IB : No device found.\r\n"
    "n2:1482:1482 [0] NCCL INFO NET/Socket : Using [0]eno1:172.22.116.89<0>\r\n"
    "n2:1482:1482 [0] NCCL INFO Using network Socket\r\n";

TEST(NcclLog, NamesTheNetwork) {
  EXPECT_EQ(parse_nccl_log(kInfiniBand), (NcclNetwork{"IB", ""}));
  EXPECT_EQ(parse_nccl_log(kSocket), (NcclNetwork{"Socket", "NET/IB : No device found."}));
  EXPECT_EQ(parse_nccl_log("n [0] NCCL INFO Using network AWS Libfabric").name, "AWS Libfabric");
  EXPECT_EQ(parse_nccl_log("Using network Socket\nanything"), NcclNetwork{});
  EXPECT_EQ(parse_nccl_log(""), NcclNetwork{});
}

TEST(NcclLog, OneRankOnSocketsIsEnough) {
  EXPECT_EQ(parse_nccl_log(std::string(kSocket) + kInfiniBand).name, "Socket");
  EXPECT_EQ(parse_nccl_log(std::string(kInfiniBand) + kSocket).name, "Socket");
}

TEST(NcclLog, AVariableIsTheReason) {
  // Logged with NCCL_DEBUG_SUBSYS=ENV; NCCL then does not look for a device.
  const std::string said =
      "n1:17:17 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
      "n1:17:17 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0>\n"
      "n1:17:17 [0] NCCL INFO Using network Socket\n";
  EXPECT_EQ(parse_nccl_log(said),
            (NcclNetwork{"Socket", "NCCL_IB_DISABLE set by environment to 1."}));
}

TEST(NcclLog, ASocketIsAFaultOnlyWhereThereIsRdma) {
  EXPECT_THAT(nccl_network_finding(parse_nccl_log(kSocket), true),
              HasSubstr("its log: NET/IB : No device found."));
  EXPECT_THAT(nccl_network_finding(parse_nccl_log(kSocket), false), IsEmpty());
  EXPECT_THAT(nccl_network_finding(parse_nccl_log(kInfiniBand), true), IsEmpty());
  EXPECT_THAT(nccl_network_finding({}, true), IsEmpty());
}

}  // namespace
}  // namespace dlaunch::measure
