#include "fabric/azure_sizes.h"

#include <gmock/gmock.h>

namespace dlaunch::fabric {
namespace {

using testing::HasSubstr;

// Microsoft, "Azure virtual machine sizes naming conventions": r is RDMA. "Known issues with HPC
// and GPU VMs", "InfiniBand driver installation on non-SR-IOV VMs": H16r, H16mr and NC24r.
TEST(AzureSizes, TheLetterR) {
  for (const char* with :
       {"Standard_ND96asr_v4", "ND96asr_v4", "standard_nd96asr_V4", "Standard_ND96isr_H100_v5",
        "Standard_HB120rs_v3", "NC24rs_v3", "Standard_HB120-16rs_v3"}) {
    const auto size = azure_size(with);
    ASSERT_TRUE(size.has_value()) << with;
    EXPECT_TRUE(size->has_rdma && size->has_sriov) << with;
  }
  for (const char* without : {"Standard_NC24s_v3", "NC24ads_A100_v4", "Standard_D4s_v5", "NV12",
                              "Standard_NC40ads_H100_v5"}) {
    const auto size = azure_size(without);
    ASSERT_TRUE(size.has_value()) << without;
    EXPECT_FALSE(size->has_rdma) << without;
    EXPECT_THAT(size->says, HasSubstr("no RDMA"));
  }
  for (const char* old : {"Standard_NC24r", "nc24r", "H16r", "H16mr", "A9"}) {
    const auto size = azure_size(old);
    ASSERT_TRUE(size.has_value()) << old;
    EXPECT_TRUE(size->has_rdma) << old;
    EXPECT_FALSE(size->has_sriov) << old;
    EXPECT_THAT(size->says, HasSubstr("without SR-IOV"));
  }
  EXPECT_EQ(azure_size("nd96ASR_v4")->name, "Standard_ND96asr_v4");
  EXPECT_EQ(azure_size("standard_D4s_v5")->name, "Standard_D4s_v5");
  EXPECT_THAT(azure_size("ND96asr_v4")->says, HasSubstr("8 ports of 200 Gb/s (HDR)"));
  EXPECT_THAT(azure_size("Standard_XY7r_v9")->says, HasSubstr("dlaunch does not know"));
}

TEST(AzureSizes, NoNames) {
  for (const std::string& odd :
       {std::string(), std::string("Standard_"), std::string("gpu"), std::string("24r"),
        std::string("NC24r v3"), std::string("NC24r\n"), std::string(1000, 'a')}) {
    const auto size = azure_size(odd);
    ASSERT_FALSE(size.has_value()) << odd;
    EXPECT_EQ(size.error().exit_code, exit_code::kUsage);
    EXPECT_THAT(size.error().message, HasSubstr("is not the name of an Azure VM size"));
  }
}

}  // namespace
}  // namespace dlaunch::fabric
