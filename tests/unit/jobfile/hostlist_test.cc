// Expected expansions: Slurm::Hostlist(3pm), and what Slurm's own parser returns for the same text.
#include "jobfile/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace dlaunch::jobfile {
namespace {

using Names = std::vector<std::string>;

Names names_of(std::string_view text) {
  const auto hosts = expand_hostlist(text);
  EXPECT_TRUE(hosts) << text << ": " << (hosts ? "" : hosts.error().message);
  Names names;
  if (!hosts) return names;
  for (const HostEntry& host : *hosts) names.push_back(host.name);
  return names;
}

struct Good {
  const char* text;
  Names names;
};

class GoodList : public testing::TestWithParam<Good> {};

TEST_P(GoodList, IsExpandedInOrder) {
  EXPECT_EQ(names_of(GetParam().text), GetParam().names);
}

const Good kGood[] = {
    {"", {}},
    {" ,\n\t,", {}},
    {"gpu01", {"gpu01"}},
    {"node[001-004,7]", {"node001", "node002", "node003", "node004", "node7"}},
    {"node[7,001-004]", {"node7", "node001", "node002", "node003", "node004"}},
    {"node[8-011]", {"node8", "node9", "node10", "node11"}},
    {"node[098-101]", {"node098", "node099", "node100", "node101"}},
    {"node[0-0]", {"node0"}},
    {"rack[1-2]node[01-03]",
     {"rack1node01", "rack1node02", "rack1node03", "rack2node01", "rack2node02", "rack2node03"}},
    {"n[1-2][3-4]", {"n13", "n14", "n23", "n24"}},
    {"node[1-3]-ib0", {"node1-ib0", "node2-ib0", "node3-ib0"}},
    {"node[1-2].a.b", {"node1.a.b", "node2.a.b"}},
    {"[1-3]", {"1", "2", "3"}},
    {"a,b,,c", {"a", "b", "c"}},
    {"a b\tc\nd\r\n", {"a", "b", "c", "d"}},
    {"b,a,b", {"b", "a", "b"}},
    {"node[1-2,1-2]", {"node1", "node2", "node1", "node2"}},
    {"tux0-5", {"tux0-5"}},
    {"a,n[1,3],b", {"a", "n1", "n3", "b"}},
    {"10.0.0.[4-5]", {"10.0.0.4", "10.0.0.5"}},
    {"fe80::1,::1,fe80::1%eth0", {"fe80::1", "::1", "fe80::1%eth0"}},
    {"host_1.example.com", {"host_1.example.com"}},
    {"n[999999999999999998-999999999999999999]", {"n999999999999999998", "n999999999999999999"}},
};

INSTANTIATE_TEST_SUITE_P(All, GoodList, testing::ValuesIn(kGood));

TEST(Hostlist, UsersAndSlotsBelongToTheirItemOnly) {
  const auto hosts =
      expand_hostlist("me@gpu[01-02]:8,login,u@fe80::1,10.0.0.1:2,[fe80::2]:4,u@[::1]");
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_EQ(*hosts, (std::vector<HostEntry>{{"gpu01", "me", 8},
                                            {"gpu02", "me", 8},
                                            {"login", "", 0},
                                            {"fe80::1", "u", 0},
                                            {"10.0.0.1", "", 2},
                                            {"fe80::2", "", 4},
                                            {"::1", "u", 0}}));
}

struct Bad {
  std::string text;
  const char* error;  // behind "host list"
};

class BadList : public testing::TestWithParam<Bad> {};

TEST_P(BadList, SaysWhereAndWhat) {
  const auto hosts = expand_hostlist(GetParam().text);
  ASSERT_FALSE(hosts) << GetParam().text;
  EXPECT_EQ(hosts.error().exit_code, exit_code::kJobFile);
  const std::string first_line = hosts.error().message.substr(0, hosts.error().message.find('\n'));
  EXPECT_EQ(first_line, "host list" + std::string(GetParam().error));
}

const Bad kBad[] = {
    {"node[1-3", ", character 5: this '[' is not closed with ']'"},
    {"a,node1]", ", character 8: this ']' has no matching '['"},
    {"n[1[2]]", ", character 4: brackets cannot be nested"},
    {"n[]", ", character 2: these brackets are empty"},
    {"n[1,,2]", ", character 4: a number is missing here"},
    {"n[,1]", ", character 2: a number is missing here"},
    {"n[1,]", ", character 4: a number is missing here"},
    {"n[5-]", ", character 3: this range has no end"},
    {"n[-5]", ", character 3: this range has no start"},
    {"n[-]", ", character 3: this range has no start"},
    {"n[5-1]", ", character 3: this range goes from the larger number to the smaller one"},
    {"n[010-9]", ", character 3: this range goes from the larger number to the smaller one"},
    {"n[a-c]", ", character 3: \"a-c\" is not a number or a range such as 01-16"},
    {"n[ 1-2]", ", character 3: \" 1-2\" is not a number or a range such as 01-16"},
    {"n[1-2-3]", ", character 3: \"1-2-3\" is not a number or a range such as 01-16"},
    {"n[1x3]", ", character 3: \"1x3\" is not a number or a range such as 01-16"},
    {"n[1-10/2]",
     ", character 3: \"1-10/2\" is not a number or a range such as 01-16; steps (/2) are not "
     "supported, list the numbers"},
    {"[fe80::1]x",
     ", character 10: an address in brackets may only be followed by ':' and a number of slots"},
    {"[fe80::1]x:2",
     ", character 10: an address in brackets may only be followed by ':' and a number of slots"},
    {"[fe80::1]:",
     ", character 10: what follows ':' must be a number of slots, as in \"gpu[01-04]:8\""},
    {"n[fe80::1]",
     ", character 3: \"fe80::1\" is not a number or a range such as 01-16; write an IPv6 address "
     "without brackets"},
    {"n[1234567890123456789]", ", character 3: a number has at most 18 digits here"},
    {"n[0-65536]", ", character 3: this names more than 65536 hosts"},
    {"n[0-65535],m", ", character 12: this names more than 65536 hosts"},
    {"n[0-255][0-255][0-1]", ", character 1: this names more than 65536 hosts"},
    {"gpu:x", ", character 4: what follows ':' must be a number of slots, as in \"gpu[01-04]:8\""},
    {"gpu[1-2]:",
     ", character 9: what follows ':' must be a number of slots, as in "
     "\"gpu[01-04]:8\""},
    {"gpu:0", ", character 5: a host has 1 to 100000 slots"},
    {"gpu:99999999999999999999", ", character 5: a host has 1 to 100000 slots"},
    {":8", ", character 1: the name of the host is missing before ':'"},
    {"u@", ", character 2: the name of the host is missing after '@'"},
    {"u@:8", ", character 3: the name of the host is missing before ':'"},
    {"@h", ", character 1: the name of the user is missing before '@'"},
    {"a@b@c", ", character 4: \"@\" cannot be part of a host name"},
    {"u[1]@h", ", character 2: \"[\" cannot be part of a user name"},
    {"-oProxyCommand=x", ", character 1: a host name cannot begin with '-'"},
    {"-u@h", ", character 1: a user name cannot begin with '-'"},
    {"n{a}", ", character 2: \"{\" cannot be part of a host name"},
    {"a,b;c", ", character 4: \";\" cannot be part of a host name"},
    {"caf\xc3\xa9", ", character 4: \"\xc3\xa9\" cannot be part of a host name"},
    {std::string("a\0b", 3), ", character 2: \"\\x00\" cannot be part of a host name"},
    {"fe80::1%[1-2]", ", character 5: \":\" cannot be part of a host name"},
    {"a\nb[", ", line 2, character 2: this '[' is not closed with ']'"},
    {std::string(254, 'x'), ", character 1: a host name has at most 253 characters"},
};

INSTANTIATE_TEST_SUITE_P(All, BadList, testing::ValuesIn(kBad));

TEST(Hostlist, TheErrorShowsTheTextWithACaret) {
  const auto hosts = expand_hostlist("a,n[5-1],b", "SLURM_JOB_NODELIST");
  ASSERT_FALSE(hosts);
  EXPECT_EQ(hosts.error().message,
            "SLURM_JOB_NODELIST, character 5: this range goes from the larger number to the "
            "smaller one\n"
            "    1 | a,n[5-1],b\n"
            "      |     ^~~");
}

TEST(Hostlist, TheLargestListIsExpanded) {
  const Names names = names_of("n[0-65535]");
  ASSERT_EQ(names.size(), kMostHosts);
  EXPECT_EQ(names.back(), "n65535");
  EXPECT_EQ(names_of("r[0-255]n[0-255]").back(), "r255n255");
}

// Each of these costs time or memory out of proportion in a careless parser.
TEST(Hostlist, HostileTextsAreRefusedAtOnce) {
  const auto repeated = [](const std::string& part, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += part;
    return out;
  };
  EXPECT_FALSE(expand_hostlist("n" + repeated("[0-9]", 100'000)));
  EXPECT_FALSE(expand_hostlist("n" + repeated("[1]", 100'000)));
  EXPECT_FALSE(expand_hostlist("n[" + repeated("0-65535,", 100'000) + "1]"));
  EXPECT_FALSE(expand_hostlist("n" + repeated("[0-65535]", 20)));
  EXPECT_FALSE(expand_hostlist(repeated("[", 100'000)));
  EXPECT_FALSE(expand_hostlist(repeated("a,", 100'000)));
  EXPECT_FALSE(expand_hostlist("n[" + std::string(100'000, '9') + "]"));
}

struct Short {
  Names names;
  const char* text;
};

class ShortForm : public testing::TestWithParam<Short> {};

TEST_P(ShortForm, SaysTheSameNames) {
  EXPECT_EQ(compress_hostlist(GetParam().names), GetParam().text);
  EXPECT_EQ(names_of(GetParam().text), GetParam().names);
}

const Short kShort[] = {
    {{}, ""},
    {{"a"}, "a"},
    {{"gpu01"}, "gpu01"},
    {{"gpu01", "gpu02", "gpu03", "gpu07", "login"}, "gpu[01-03,07],login"},
    {{"n9", "n10", "n11"}, "n[9-11]"},
    {{"n09", "n10"}, "n[09-10]"},
    {{"n1", "n01"}, "n[1,01]"},
    {{"n2", "n1"}, "n[2,1]"},
    {{"n1", "n1"}, "n1,n1"},
    {{"n1", "n2", "n2", "n1"}, "n[1-2,2,1]"},
    {{"r1n01", "r1n02", "r2n01", "r2n02"}, "r1n[01-02],r2n[01-02]"},
    {{"n1.a2", "n2.a2"}, "n[1-2].a2"},
    {{"10.0.0.4", "10.0.0.5"}, "10.0.0.[4-5]"},
    {{"fe80::1", "fe80::2"}, "fe80::1,fe80::2"},
    {{"a", "b"}, "a,b"},
    {{"n1", "m2"}, "n1,m2"},
    {{"1", "2"}, "[1-2]"},
};

INSTANTIATE_TEST_SUITE_P(All, ShortForm, testing::ValuesIn(kShort));

rc::Gen<std::string> a_name() {
  const auto piece = rc::gen::oneOf(
      rc::gen::element<std::string>("n", "gpu", "-ib", ".a", "_"),
      rc::gen::element<std::string>("0", "1", "2", "01", "02", "09", "10", "99", "100", "007"));
  return rc::gen::suchThat(rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                                        [](std::vector<std::string> pieces) {
                                          std::string name;
                                          if (pieces.size() > 5) pieces.resize(5);
                                          for (const std::string& part : pieces) name += part;
                                          return name;
                                        }),
                           [](const std::string& name) { return !name.empty() && name[0] != '-'; });
}

RC_GTEST_PROP(HostlistProperty, ExpandingTheShortFormGivesTheNames, ()) {
  const auto names = *rc::gen::container<Names>(a_name());
  const auto hosts = expand_hostlist(compress_hostlist(names));
  RC_ASSERT(static_cast<bool>(hosts));
  Names again;
  for (const HostEntry& host : *hosts) again.push_back(host.name);
  RC_ASSERT(again == names);
}

RC_GTEST_PROP(HostlistProperty, AnyTextIsAListOrAnError, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::element('[', ']', ',', '-', ':', '@', '0', '1', '9', 'n', ' '),
                     rc::gen::arbitrary<char>()));
  const auto hosts = parse_hostlist(text);
  if (!hosts) {
    RC_ASSERT(!hosts.error().message.empty());
    RC_ASSERT(hosts.error().range.offset + hosts.error().range.length <= text.size());
    return;
  }
  for (const HostEntry& host : *hosts) {
    RC_ASSERT(!host.name.empty());
    RC_ASSERT(host.name[0] != '-');
    RC_ASSERT(host.slots >= 0);
  }
}

}  // namespace
}  // namespace dlaunch::jobfile
