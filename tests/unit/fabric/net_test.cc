#include "fabric/net.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <net/if.h>

#include "fixture_tree.h"

namespace dlaunch::fabric {
namespace {

using Kind = NetworkInterface::Kind;

constexpr unsigned kUp = IFF_UP | IFF_RUNNING;

/// A machine whose /sys/class/net agrees with the kernel's table of addresses.
class Machine {
 public:
  struct Shape {
    int type = 1;  // ARPHRD_ETHER
    std::string speed = "";
    std::string devtype = "";
    bool has_device = false;
    int link = 0;  // 0: itself
    unsigned flags = kUp;
    int mtu = 1500;
  };

  /// The files as Linux 6.x has them for such an interface.
  void interface(const std::string& name, const Shape& shape, const std::string& address = "",
                 int prefix = 24) {
    const int index = ++last_;
    const std::string hardware = "02:00:00:00:00:0" + std::to_string(index % 10);
    const std::string at = "/sys/class/net/" + name;
    tree_.file(at + "/type", std::to_string(shape.type) + "\n");
    tree_.file(at + "/ifindex", std::to_string(index) + "\n");
    tree_.file(at + "/iflink", std::to_string(shape.link == 0 ? index : shape.link) + "\n");
    tree_.file(at + "/address", hardware + "\n");
    tree_.file(at + "/mtu", std::to_string(shape.mtu) + "\n");
    tree_.file(at + "/uevent", (shape.devtype.empty() ? "" : "DEVTYPE=" + shape.devtype + "\n") +
                                   "INTERFACE=" + name + "\nIFINDEX=" + std::to_string(index) +
                                   "\n");
    if (!shape.speed.empty()) tree_.file(at + "/speed", shape.speed + "\n");
    if (shape.has_device) tree_.file(at + "/device/vendor", "0x15b3\n");
    rows_.push_back({name, shape.flags, index, hardware, std::nullopt});
    if (!address.empty()) add_address(name, address, prefix, shape.flags);
  }
  void add_address(const std::string& name, const std::string& address, int prefix,
                   unsigned flags = kUp) {
    rows_.push_back({name, flags, 0, "", InterfaceAddress{address, prefix}});
  }
  void enslave(const std::string& port, const std::string& master) {
    namespace fs = std::filesystem;
    const std::string net = tree_.root() + "/sys/class/net/";
    fs::create_symlink("../" + master, net + port + "/master");
    fs::create_symlink("../" + port, net + master + "/lower_" + port);
  }
  void lower(const std::string& upper, const std::string& lower) {
    std::filesystem::create_symlink("../" + lower,
                                    tree_.root() + "/sys/class/net/" + upper + "/lower_" + lower);
  }

  std::vector<NetworkInterface> read() { return read_interfaces(tree_.root(), rows_); }

  FixtureTree tree_;
  std::vector<AddressRow> rows_;

 private:
  int last_ = 0;
};

const NetworkInterface& named(const std::vector<NetworkInterface>& all, const std::string& name) {
  static const NetworkInterface none;
  for (const NetworkInterface& each : all) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no interface " << name;
  return none;
}

std::vector<std::string> names(const std::vector<NetworkInterface>& all) {
  std::vector<std::string> names;
  for (const NetworkInterface& each : all) names.push_back(each.name);
  return names;
}

TEST(Net, AVlanOnABondOfTwoCards) {
  Machine m;
  m.interface("lo", {.type = 772, .flags = kUp | IFF_LOOPBACK, .mtu = 65536}, "127.0.0.1", 8);
  m.interface("eno1", {.speed = "25000", .has_device = true});
  m.interface("eno2", {.speed = "25000", .has_device = true});
  m.interface("eno3", {.speed = "-1", .has_device = true, .flags = IFF_UP});
  m.interface("bond0", {.speed = "50000", .devtype = "bond"});
  m.tree_.file("/sys/class/net/bond0/bonding/mode", "802.3ad 4\n");
  m.interface("bond0.100", {.devtype = "vlan", .link = 5, .mtu = 9000}, "10.1.0.4", 24);
  m.enslave("eno1", "bond0");
  m.enslave("eno2", "bond0");
  m.lower("bond0.100", "bond0");
  const auto all = m.read();
  // eno3 has no address and is part of nothing.
  EXPECT_THAT(names(all), testing::ElementsAre("lo", "bond0.100", "bond0", "eno1", "eno2"));
  EXPECT_EQ(named(all, "lo").kind, Kind::loopback);
  EXPECT_EQ(named(all, "bond0.100"),
            (NetworkInterface{"bond0.100", Kind::vlan, true, 50000, 9000, "", {{"10.1.0.4", 24}}}));
  EXPECT_EQ(named(all, "bond0").kind, Kind::bond);
  EXPECT_EQ(named(all, "eno2"),
            (NetworkInterface{"eno2", Kind::physical, true, 25000, 1500, "bond0", {}}));
}

TEST(Net, IpOverInfinibandBesideEthernet) {
  Machine m;
  m.interface("eth0", {.speed = "1000", .has_device = true}, "192.168.0.4");
  m.interface("ib0", {.type = 32, .speed = "400000", .has_device = true, .mtu = 4092}, "10.9.0.4",
              16);
  // Twenty bytes in /sys, of which the kernel's table holds eight.
  m.tree_.file("/sys/class/net/ib0/address",
               m.rows_[2].hardware + ":fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:1d:64\n");
  m.interface("ib1", {.type = 32, .speed = "400000", .has_device = true, .flags = IFF_UP},
              "10.9.0.5");
  const auto all = m.read();
  EXPECT_EQ(named(all, "ib0").kind, Kind::infiniband);
  EXPECT_EQ(named(all, "ib0").speed_mbit, 400000U);
  EXPECT_TRUE(named(all, "ib0").is_up);
  EXPECT_FALSE(named(all, "ib1").is_up);  // its port has no link
}

TEST(Net, ADockerHost) {
  Machine m;
  m.interface("enp1s0", {.speed = "10000", .has_device = true});
  m.interface("br0", {.speed = "-1", .devtype = "bridge"}, "10.0.0.4");
  m.tree_.file("/sys/class/net/br0/bridge/bridge_id", "8000.0\n");
  m.interface("docker0", {.speed = "10000", .devtype = "bridge"}, "172.17.0.1", 16);
  m.interface("vethab12", {.speed = "10000", .link = 77});
  m.interface("tun0", {.type = 65534, .speed = "10", .flags = kUp | IFF_POINTOPOINT}, "10.8.0.6",
              32);
  m.tree_.file("/sys/class/net/tun0/tun_flags", "0x1\n");
  m.interface("wg0", {.type = 65534, .devtype = "wireguard"}, "10.7.0.2");
  m.interface("flannel.1", {.devtype = "vxlan"}, "10.244.0.0", 32);
  m.interface("dummy0", {}, "10.255.0.1", 32);
  m.enslave("enp1s0", "br0");
  m.enslave("vethab12", "docker0");
  const auto all = m.read();
  EXPECT_EQ(named(all, "br0").kind, Kind::bridge);
  EXPECT_EQ(named(all, "br0").speed_mbit, 10000U);  // that of its card
  EXPECT_EQ(named(all, "enp1s0").master, "br0");
  EXPECT_EQ(named(all, "docker0").kind, Kind::bridge);
  EXPECT_EQ(named(all, "vethab12").kind, Kind::veth);
  EXPECT_EQ(named(all, "vethab12").speed_mbit, 0U);  // 10000 is a constant of the driver
  EXPECT_EQ(named(all, "tun0").kind, Kind::tunnel);
  EXPECT_EQ(named(all, "tun0").speed_mbit, 0U);
  EXPECT_EQ(named(all, "wg0").kind, Kind::tunnel);
  EXPECT_EQ(named(all, "flannel.1").kind, Kind::tunnel);
  EXPECT_EQ(named(all, "dummy0").kind, Kind::other);
}

// The synthetic interface has the address, the virtual function of the card is a part of it.
TEST(Net, AnAzureVmWithAcceleratedNetworking) {
  Machine m;
  m.interface("eth0", {.speed = "50000", .has_device = true}, "10.0.0.4");
  m.interface("enP30832s1", {.speed = "100000", .has_device = true});
  m.enslave("enP30832s1", "eth0");
  const auto all = m.read();
  EXPECT_EQ(named(all, "eth0"),
            (NetworkInterface{"eth0", Kind::physical, true, 50000, 1500, "", {{"10.0.0.4", 24}}}));
  EXPECT_EQ(named(all, "enP30832s1").master, "eth0");
  EXPECT_TRUE(named(all, "enP30832s1").addresses.empty());
}

TEST(Net, UnknownSpeeds) {
  Machine m;
  m.interface("eth0", {.speed = "-1", .has_device = true}, "10.0.0.4");          // virtio
  m.interface("eth1", {.has_device = true}, "10.0.1.4");                         // EINVAL
  m.interface("eth2", {.speed = "4294967295", .has_device = true}, "10.0.2.4");  // older kernels
  for (const NetworkInterface& each : m.read()) EXPECT_EQ(each.speed_mbit, 0U) << each.name;
}

TEST(Net, LinkLocalIpv6AloneIsNoAddress) {
  Machine m;
  m.interface("eth0", {.speed = "1000", .has_device = true}, "10.0.0.4");
  m.add_address("eth0", "fe80::1", 64);
  m.add_address("eth0", "fd00::4", 64);
  m.interface("cali1", {.link = 9}, "fe80::ecee:eeff:feee:eeee", 64);
  const auto all = m.read();
  ASSERT_THAT(names(all), testing::ElementsAre("eth0"));
  EXPECT_THAT(all[0].addresses, testing::ElementsAre(InterfaceAddress{"10.0.0.4", 24},
                                                     InterfaceAddress{"fd00::4", 64}));
}

TEST(Net, SysOfAnotherNamespaceIsNotBelieved) {
  Machine m;
  m.interface("eth0", {.speed = "100000", .has_device = true}, "10.0.0.4");
  m.rows_[0].index = 17;
  const auto all = m.read();
  EXPECT_EQ(named(all, "eth0").kind, Kind::other);
  EXPECT_EQ(named(all, "eth0").speed_mbit, 0U);
  EXPECT_TRUE(named(all, "eth0").is_up);
}

TEST(Net, WithoutSysTheAddressesRemain) {
  const FixtureTree empty;
  const auto all =
      read_interfaces(empty.root(), {{"eth0", kUp, 2, "02:00:00:00:00:01", std::nullopt},
                                     {"eth0", kUp, 0, "", InterfaceAddress{"10.0.0.4", 24}}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].addresses.size(), 1U);
}

TEST(Net, ALoopOfInterfacesEnds) {
  Machine m;
  m.interface("a", {}, "10.0.0.4");
  m.interface("b", {});
  m.lower("a", "b");
  m.lower("b", "a");
  EXPECT_THAT(names(m.read()), testing::ElementsAre("a", "b"));
}

TEST(Net, AtMostSixtyFour) {
  Machine m;
  for (int i = 0; i < 100; ++i)
    m.interface("eth" + std::to_string(i), {}, "10.0." + std::to_string(i) + ".1");
  EXPECT_EQ(m.read().size(), 64U);
}

TEST(Net, ThisMachineHasLoopback) {
  const auto rows = read_address_rows();
  EXPECT_EQ(interface_of("127.0.0.1", rows), "lo");
  EXPECT_EQ(interface_of("203.0.113.1", rows), "");
  const auto all = read_interfaces("", rows);
  EXPECT_EQ(named(all, "lo").kind, Kind::loopback);
  EXPECT_TRUE(named(all, "lo").is_up);
  EXPECT_EQ(named(all, "lo").addresses.front(), (InterfaceAddress{"127.0.0.1", 8}));
}

}  // namespace
}  // namespace dlaunch::fabric
