#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "fabric/fabric_facts.h"
#include "fabric/gpu_health_report.h"
#include "fabric/mca_settings.h"
#include "fabric/pci.h"
#include "fabric/rdma.h"
#include "fabric/tree.h"

namespace dlaunch::fabric {
namespace {

using State = RdmaPort::State;

// Each line as one of the kernel's *_show functions writes it (drivers/infiniband/core/sysfs.c).
TEST(RdmaText, StatesOfAPort) {
  EXPECT_EQ(parse_port_state("0: NOP"), State::nop);
  EXPECT_EQ(parse_port_state("1: DOWN"), State::down);
  EXPECT_EQ(parse_port_state("2: INIT"), State::init);
  EXPECT_EQ(parse_port_state("3: ARMED"), State::armed);
  EXPECT_EQ(parse_port_state("4: ACTIVE"), State::active);
  EXPECT_EQ(parse_port_state("5: ACTIVE_DEFER"), State::active_defer);
  for (const char* odd : {"", "ACTIVE", "4", "4:", "6: UNKNOWN", "-1: X", "4 : ACTIVE", "256: X"})
    EXPECT_EQ(parse_port_state(odd), State::unknown) << odd;
  EXPECT_EQ(parse_physical_state("5: LinkUp"), "LinkUp");
  EXPECT_EQ(parse_physical_state("7: Phy Test"), "Phy Test");
  EXPECT_EQ(parse_physical_state("9: <unknown>"), "<unknown>");
  EXPECT_EQ(parse_physical_state("LinkUp"), "");
  EXPECT_EQ(parse_physical_state("5: a\x01z"), "");
}

TEST(RdmaText, Rates) {
  EXPECT_EQ(parse_port_rate("400 Gb/sec (4X NDR)"), (PortRate{400000, 4, "NDR"}));
  EXPECT_EQ(parse_port_rate("200 Gb/sec (4X HDR)"), (PortRate{200000, 4, "HDR"}));
  EXPECT_EQ(parse_port_rate("100 Gb/sec (2X HDR)"), (PortRate{100000, 2, "HDR"}));
  EXPECT_EQ(parse_port_rate("56 Gb/sec (4X FDR)"), (PortRate{56000, 4, "FDR"}));
  EXPECT_EQ(parse_port_rate("40 Gb/sec (4X FDR10)"), (PortRate{40000, 4, "FDR10"}));
  EXPECT_EQ(parse_port_rate("10 Gb/sec (4X)"), (PortRate{10000, 4, ""}));
  EXPECT_EQ(parse_port_rate("2.5 Gb/sec (1X)"), (PortRate{2500, 1, ""}));
  EXPECT_EQ(parse_port_rate("800 Gb/sec (4X XDR)"), (PortRate{800000, 4, "XDR"}));
  for (const char* odd :
       {"", "400", "400 Gb/sec", "400 Gb/sec (4X NDR", "x Gb/sec (4X)", "2.6 Gb/sec (1X)",
        "-5 Gb/sec (4X)", "400 Gb/sec (X NDR)", "400 Gb/sec (4 NDR)", "400 Gb/sec (4XNDR)",
        "99999999999 Gb/sec (4X)", "400 Gb/sec ()", ".5 Gb/sec (1X)"})
    EXPECT_FALSE(parse_port_rate(odd).has_value()) << odd;
}

TEST(RdmaText, Gids) {
  const std::string mapped = "0000:0000:0000:0000:0000:ffff:0a01:0104";
  EXPECT_EQ(parse_gid(mapped), mapped);
  EXPECT_FALSE(parse_gid("0000:0000:0000:0000:0000:0000:0000:0000").has_value());
  EXPECT_FALSE(parse_gid("").has_value());
  EXPECT_FALSE(parse_gid(mapped + "0").has_value());
  EXPECT_FALSE(parse_gid("0000:0000:0000:0000:0000:FFFF:0a01:0104").has_value());
  EXPECT_FALSE(parse_gid("0000:0000:0000:0000:0000 ffff:0a01:0104").has_value());
  EXPECT_EQ(parse_gid_type("RoCE v2"), RdmaGid::Type::roce_v2);
  EXPECT_EQ(parse_gid_type("IB/RoCE v1"), RdmaGid::Type::v1);
  EXPECT_EQ(parse_gid_type("RoCE v3"), RdmaGid::Type::unknown);
}

TEST(Pci, Paths) {
  EXPECT_EQ(pci_path_of("../../../devices/pci0000:15/0000:15:01.0/0000:18:00.0"),
            "pci0000:15/0000:15:01.0/0000:18:00.0");
  EXPECT_EQ(pci_path_of("../../../devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/"
                        "47505500-0001-0000-3130-444532304235/pci0101:00/0101:00:00.0"),
            "pci0101:00/0101:00:00.0");
  // Intel's VMD makes domains of five digits.
  EXPECT_EQ(pci_path_of("../../../devices/pci0000:80/0000:80:00.5/10000:e1:00.0"),
            "pci0000:80/0000:80:00.5/10000:e1:00.0");
  for (const char* odd : {"", "pci0000:15", "../../0000:18:00.0", "pcix/0000:18:00.0",
                          "pci0000:15/0000:18:00.0/net/eth0", "////", "pci0000:15//0000:18:00.0"})
    EXPECT_EQ(pci_path_of(odd), "") << odd;
  std::string deep = "pci0000:00";
  for (int i = 0; i < 100; ++i) deep += "/0000:00:01.0";
  EXPECT_EQ(pci_path_of(deep), "");
}

TEST(Text, NaturalOrder) {
  EXPECT_TRUE(natural_less("mlx5_2", "mlx5_10"));
  EXPECT_FALSE(natural_less("mlx5_10", "mlx5_2"));
  EXPECT_TRUE(natural_less("mlx4_9", "mlx5_0"));
  EXPECT_TRUE(natural_less("mlx5", "mlx5_0"));
  EXPECT_FALSE(natural_less("mlx5_0", "mlx5_0"));
  EXPECT_FALSE(natural_less("a01", "a1"));
  EXPECT_TRUE(natural_less("a99999999999999999999998", "a99999999999999999999999"));
}

TEST(Text, WhatMayGoOn) {
  EXPECT_TRUE(is_device_name("mlx5_bond_0"));
  EXPECT_TRUE(is_device_name("eth0.100"));
  for (const std::string& odd :
       {std::string(), std::string("."), std::string(".."), std::string("a b"), std::string("a/b"),
        std::string("a\n"), std::string("a\0b", 3), std::string(65, 'a'), std::string("\xff")})
    EXPECT_FALSE(is_device_name(odd)) << odd;
  EXPECT_EQ(plain_or_empty("NVIDIA H100"), "NVIDIA H100");
  EXPECT_EQ(plain_or_empty("a\x1b[2J"), "");
  EXPECT_EQ(plain_or_empty("abc", 2), "");
  EXPECT_EQ(parse_hex("0x1a"), 26U);
  EXPECT_EQ(parse_hex("ffffffff"), 0xffffffffU);
  for (const char* odd : {"", "0x", "0x1g", "-1", "0x100000000", " 1"})
    EXPECT_FALSE(parse_hex(odd).has_value()) << odd;
}

TEST(Text, NcclSettings) {
  Environment settings = {{"NCCL_DEBUG", "INFO"}};
  add_nccl_settings(
      "# a comment\nNCCL_IB_HCA==mlx5_0:1\r\nNCCL_DEBUG=WARN\n #NCCL_A=1\nNCCL_B\n"
      "OTHER=1\nNCCL_TOPO_FILE=/opt/a b\nNCCL_X=a\x01\n",
      settings);
  EXPECT_EQ(settings, (Environment{{"NCCL_DEBUG", "INFO"},
                                   {"NCCL_IB_HCA", "=mlx5_0:1"},
                                   {"NCCL_TOPO_FILE", "/opt/a b"}}));
}

TEST(McaSettings, LinesAsOpenMpiReadsThem) {
  Environment settings = {{"OMPI_MCA_pml", "ob1"}};
  add_mca_settings(
      "# a comment\nbtl_tcp_if_include = eth0 # why\r\npml=ucx\n  btl  =  ^openib,uct\n"
      "-mca mtl ^ofi\n--mca osc \"rdma\"\n-x PATH\nno_value\n= x\nodd name = 1\nempty =\nbad = "
      "\x01\n",
      settings);
  EXPECT_EQ(settings, (Environment{{"OMPI_MCA_btl_tcp_if_include", "eth0"},
                                   {"OMPI_MCA_pml", "ob1"},
                                   {"OMPI_MCA_btl", "^openib,uct"},
                                   {"OMPI_MCA_mtl", "^ofi"},
                                   {"OMPI_MCA_osc", "rdma"},
                                   {"OMPI_MCA_empty", ""}}));
}

TEST(McaSettings, OfTheUserAndOfTheInstallation) {
  char folder[] = "/tmp/mca-settings-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string root(folder);
  std::ofstream(root + "/user.conf") << "btl = ^openib\npml = ob1\n";
  std::ofstream(root + "/system.conf") << "pml = ucx\nosc = ^ucx,pt2pt\nbtl_tcp_if_include = ib0\n";
  std::ofstream(root + "/other.conf") << "mtl = ofi\n";
  const McaFiles files{{"/none.conf", "/user.conf"}, {"/none.conf", "/system.conf", "/other.conf"}};
  EXPECT_EQ(read_mca_settings(root, files), (Environment{{"OMPI_MCA_btl", "^openib"},
                                                         {"OMPI_MCA_pml", "ob1"},
                                                         {"OMPI_MCA_btl_tcp_if_include", "ib0"}}));
  std::filesystem::remove_all(root);
}

TEST(McaSettings, WhichFiles) {
  using List = std::vector<std::string>;
  const List usual = {"/etc/openmpi/openmpi-mca-params.conf",
                      "/etc/openmpi-x86_64/openmpi-mca-params.conf", "/etc/openmpi-mca-params.conf",
                      "/usr/local/etc/openmpi-mca-params.conf"};
  EXPECT_EQ(mca_files({}), (McaFiles{{}, usual}));
  List with_library = usual;
  with_library.insert(with_library.begin(), "/opt/ompi/etc/openmpi-mca-params.conf");
  EXPECT_EQ(mca_files({{"HOME", "/home/eve"}, {"LD_LIBRARY_PATH", "/opt/ompi/lib/:lib:/lib"}}),
            (McaFiles{{"/home/eve/.openmpi/mca-params.conf"}, with_library}));
  EXPECT_EQ(mca_files({{"OPAL_PREFIX", "/opt/x"}}).installation,
            (List{"/opt/x/etc/openmpi-mca-params.conf"}));
  EXPECT_EQ(mca_files({{"OPAL_SYSCONFDIR", "/opt/c"}, {"OPAL_PREFIX", "/opt/x"}}).installation,
            (List{"/opt/c/openmpi-mca-params.conf"}));
  EXPECT_EQ(mca_files({{"HOME", "/h"}, {"OMPI_MCA_mca_base_param_files", "/a/b.conf:c.conf:/d"}}),
            (McaFiles{{"/a/b.conf", "/d"}, {}}));
}

TEST(Csv, NamesValuesAndOddLines) {
  const std::string text = "index, power.limit [W]\n0, 700.00\n\n1, [N/A]\n2\n3, 1, 2\n";
  const Csv table(text, {});
  ASSERT_EQ(table.rows(), 2U);
  EXPECT_EQ(number_in(table.at(0, "power.limit")), 700U);
  EXPECT_FALSE(number_in(table.at(1, "power.limit")).has_value());
  EXPECT_EQ(table.at(0, "nothing"), "");
  for (const char* odd : {"", "x", "-1", "1e3", "1.x", "99999999999999999999", "[Not Supported]"})
    EXPECT_FALSE(number_in(odd).has_value()) << odd;
}

}  // namespace
}  // namespace dlaunch::fabric
