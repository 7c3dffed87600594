#include "model/ip_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace dlaunch {
namespace {

/// What the C library makes of it (inet_pton(3), inet_ntop(3)), or "-".
std::string by_libc(const std::string& text) {
  const int family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (::inet_pton(family, text.c_str(), bytes.data()) != 1) return "-";
  return ::inet_ntop(family, bytes.data(), out.data(), out.size());
}

std::string by_us(const std::string& text) {
  const auto address = parse_ip(text);
  return address ? ip_text(*address) : "-";
}

TEST(IpAddress, AsTheCLibraryReadsAndWritesIt) {
  for (const char* text : {"10.0.0.4",
                           "255.255.255.255",
                           "0.0.0.0",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.256",
                           "1..2.3",
                           "",
                           ".1.2.3.4",
                           "1.2.3.4.",
                           "01.2.3.4",
                           "a.b.c.d",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "::",
                           "::1",
                           "1::",
                           ":1",
                           "1:",
                           ":::",
                           "1::2::3",
                           "fe80::1",
                           "FE80::ABCD",
                           "1:2:3:4:5:6:7:8",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7::",
                           "::2:3:4:5:6:7:8",
                           "0:0:1:0:0:0:1:0",
                           "1:0:0:2:0:0:0:3",
                           "12345::",
                           "::g",
                           "fd00:0:0:0:1:0:0:1",
                           "2001:db8:0:1:1:1:1:1",
                           "1.2.3.4::",
                           "::1.2.3.4:5",
                           "fe80::1%eth0",
                           "[::1]",
                           "gpu01",
                           "10.0.0.4/24"}) {
    EXPECT_EQ(by_us(text), by_libc(text)) << text;
  }
}

TEST(IpAddress, AnEmbeddedIpv4AddressIsRead) {
  EXPECT_EQ(by_us("::ffff:1.2.3.4"), "::ffff:1.2.3.4");
  EXPECT_EQ(by_us("::ffff:102:304"), "::ffff:1.2.3.4");
  EXPECT_EQ(by_us("64:ff9b::192.0.2.33"), by_libc("64:ff9b::192.0.2.33"));
  EXPECT_EQ(by_us("::1.2.3"), "-");
}

TEST(IpAddress, RandomOnesSurvive) {
  std::mt19937 random(4);
  for (int i = 0; i < 5000; ++i) {
    IpAddress address;
    address.is_ipv6 = i % 2 == 0;
    for (std::size_t b = 0; b < (address.is_ipv6 ? 16U : 4U); ++b)
      address.bytes[b] = random() % 2 == 0 ? 0 : static_cast<std::uint8_t>(random());
    const std::string text = ip_text(address);
    EXPECT_EQ(parse_ip(text), address) << text;
    if (address.bytes[0] != 0) {
      EXPECT_EQ(by_libc(text), text);
    }
  }
}

TEST(IpAddress, Networks) {
  const auto same = [](const char* a, const char* b, int prefix) {
    return in_same_network(*parse_ip(a), *parse_ip(b), prefix);
  };
  EXPECT_TRUE(same("10.0.0.4", "10.0.0.5", 24));
  EXPECT_FALSE(same("10.0.0.4", "10.0.1.5", 24));
  EXPECT_TRUE(same("10.0.0.4", "10.0.1.5", 23));
  EXPECT_TRUE(same("10.0.0.4", "192.168.0.1", 0));
  EXPECT_FALSE(same("10.0.0.4", "10.0.0.5", 32));
  EXPECT_FALSE(same("10.0.0.4", "10.0.0.4", 33));
  EXPECT_FALSE(same("10.0.0.4", "::", 0));
  EXPECT_TRUE(same("fd00::1", "fd00::ffff", 64));
  EXPECT_FALSE(same("fd00:0:0:1::1", "fd00:0:0:2::1", 63 + 1));
  EXPECT_EQ(parse_network("10.1.0.0/16"), (IpNetwork{*parse_ip("10.1.0.0"), 16}));
  EXPECT_EQ(parse_network("fd00::/8"), (IpNetwork{*parse_ip("fd00::"), 8}));
  for (const char* wrong : {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "eth0/24", "fd00::/129", "/8"})
    EXPECT_EQ(parse_network(wrong), std::nullopt) << wrong;
}

TEST(IpAddress, Kinds) {
  EXPECT_TRUE(is_loopback(*parse_ip("127.3.2.1")));
  EXPECT_TRUE(is_loopback(*parse_ip("::1")));
  EXPECT_FALSE(is_loopback(*parse_ip("10.0.0.1")));
  EXPECT_TRUE(is_link_local(*parse_ip("169.254.1.1")));
  EXPECT_TRUE(is_link_local(*parse_ip("febf::1")));
  EXPECT_FALSE(is_link_local(*parse_ip("fec0::1")));
  EXPECT_FALSE(is_unicast(*parse_ip("0.0.0.0")));
  EXPECT_FALSE(is_unicast(*parse_ip("224.0.0.1")));
  EXPECT_FALSE(is_unicast(*parse_ip("ff02::1")));
  EXPECT_FALSE(is_unicast(*parse_ip("::")));
  EXPECT_TRUE(is_unicast(*parse_ip("203.0.113.9")));
}

}  // namespace
}  // namespace dlaunch
