// Known facts about hostfiles, one row each: Open MPI and PRRTE (mpirun(1), hostfile_lex.l),
// MPICH's Hydra (hydra's hostfile parser), DeepSpeed (deepspeed/launcher/runner.py), Horovod, PBS,
// LSF and Grid Engine (sge_pe(5)). If dlaunch differs, the row says so.
#include "jobfile/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// "gpu01:4 me@gpu02:0 gpu03:0/2222" of hosts.
std::string shown(const std::vector<HostSpec>& hosts) {
  std::string out;
  for (const HostSpec& host : hosts) {
    out += (out.empty() ? "" : " ") + (host.user.empty() ? "" : host.user + "@") + host.name + ":" +
           std::to_string(host.slots) + (host.port == 0 ? "" : "/" + std::to_string(host.port));
  }
  return out;
}

struct Good {
  const char* text;
  HostfileForm form;
  const char* hosts;
};

class GoodHostfile : public testing::TestWithParam<Good> {};

TEST_P(GoodHostfile, IsRead) {
  const auto file = read_hostfile(GetParam().text, "hosts.txt");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(shown(file->hosts), GetParam().hosts);
  EXPECT_EQ(file->form, GetParam().form);
}

constexpr auto names = HostfileForm::names;
constexpr auto slots = HostfileForm::slots;
constexpr auto colon = HostfileForm::colon;
constexpr auto columns = HostfileForm::columns;

const Good kNames[] = {
    {"a", names, "a:0"},
    {"a\nb\n", names, "a:0 b:0"},
    {"\xef\xbb\xbf"
     "a\r\nb\r\n",
     names, "a:0 b:0"},
    {"a\na\n", names, "a:2"},                            // Open MPI, PBS, LSF: a line is a slot
    {"b\na\nb\n", names, "b:2 a:1"},                     // Hydra would make three groups of ranks
    {"gpu[01-03]\n", names, "gpu01:0 gpu02:0 gpu03:0"},  // Open MPI knows no ranges
    {"n[1,3]\nn2\n", names, "n1:0 n3:0 n2:0"},
    {"me@a\nb\n", names, "me@a:0 b:0"},
    {"[fe80::1]\n", names, "fe80::1:0"},
    {"fe80::1\n10.0.0.4\n123\n", names, "fe80::1:0 10.0.0.4:0 123:0"},
    {"10.0.0.1 worker0\n10.0.0.2 worker1\n", names, "10.0.0.1:0 10.0.0.2:0"},  // as Open MPI
    {"10.0.0.1:\n", names, "10.0.0.1:0"},                                      // as Open MPI
    {"# a\n\n  \t\na # b\n//c\nd//e\n/* f\ng */ h\n", names, "a:0 d:0 h:0"},
    {"a.example.com\na\n", names, "a.example.com:0 a:0"},  // Open MPI 4 would cut at the dot
};
INSTANTIATE_TEST_SUITE_P(Names, GoodHostfile, testing::ValuesIn(kNames));

const Good kSlots[] = {
    {"a slots=4", slots, "a:4"},
    {"a slots = 4", slots, "a:4"},
    {"a slots= 4", slots, "a:4"},
    {"a max_slots=8", slots, "a:8"},
    {"a slots=4 max_slots=8", slots, "a:4"},
    {"a slots=2\na\n", slots, "a:3"},
    {"a\na\nb slots=1\n", slots, "a:2 b:1"},
    {"a\nb slots=4\n", slots, "a:0 b:4"},  // Open MPI: the cores of a
    {"a cpu=3", slots, "a:3"},
    {"a count=3", slots, "a:3"},
    {"a slots-max=3", slots, "a:3"},
    {"a cpu_max=3", slots, "a:3"},
    {"a max-count=3", slots, "a:3"},
    {"a slots=2 # c", slots, "a:2"},
    {"10.0.0.1: slots=2", slots, "10.0.0.1:2"},
    {"u@a slots=2", slots, "u@a:2"},
    {"a slots=2 username=u port=2222", slots, "u@a:2/2222"},
    {"a user-name=u slots=2", slots, "u@a:2"},
    {"fe80::1 slots=2", slots, "fe80::1:2"},
    {"[fe80::1] slots=2", slots, "fe80::1:2"},
    {"123 slots=1", slots, "123:1"},
    {"n[1-2] slots=2", slots, "n1:2 n2:2"},  // Open MPI: an error
    {"a slots=0\nb slots=1", slots, "b:1"},
    {"a slots=0\na\n", slots, "a:1"},
    {"w0 slots=4 max_slots=8\nw1 slots=2\n", slots, "w0:4 w1:2"},
    {"w0 port=22 slots=2", slots, "w0:2/22"},  // DeepSpeed: an error
};
INSTANTIATE_TEST_SUITE_P(Slots, GoodHostfile, testing::ValuesIn(kSlots));

const Good kColon[] = {
    {"a:4", colon, "a:4"},
    {"a:4\nb\n", colon, "a:4 b:1"},  // Hydra: one slot
    {"a:2\na:3\nb:1\n", colon, "a:5 b:1"},
    {"a:2 binding=user:0,2 user=u\n", colon, "u@a:2"},
    {"a user=bob", colon, "bob@a:1"},
    {"a binding=x", colon, "a:1"},
    {"gpu[01-02]:8\n", colon, "gpu01:8 gpu02:8"},
    {"[fe80::1]:8\n", colon, "fe80::1:8"},
    {"# c\na:4 # c\n", colon, "a:4"},
    {"slots:4", colon, "slots:4"},
};
INSTANTIATE_TEST_SUITE_P(Colon, GoodHostfile, testing::ValuesIn(kColon));

const Good kColumns[] = {
    {"node01 4 all.q@node01 UNDEFINED\nnode02 2 all.q@node02 <NULL>\n", columns,
     "node01:4 node02:2"},
    {"a 4 q r\nb 1 q r\na 2 p r\n", columns, "a:6 b:1"},
};
INSTANTIATE_TEST_SUITE_P(Columns, GoodHostfile, testing::ValuesIn(kColumns));

struct Bad {
  const char* text;
  const char* error;  // behind "hosts.txt:"
};

class BadHostfile : public testing::TestWithParam<Bad> {};

TEST_P(BadHostfile, SaysWhereAndWhat) {
  const auto file = read_hostfile(GetParam().text, "hosts.txt");
  ASSERT_FALSE(file) << shown(file->hosts);
  EXPECT_EQ(file.error().exit_code, exit_code::kJobFile);
  const std::string& message = file.error().message;
  EXPECT_EQ(message.substr(0, message.find('\n')), std::string("hosts.txt:") + GetParam().error);
}

const Bad kBad[] = {
    {"", " error: the file names no host"},
    {"# only\n// comments\n", " error: the file names no host"},  // DeepSpeed: "empty"
    {"a slots=0\n", " error: no host has any slots"},
    {"a /* b\nc", "1:3: error: this comment is not closed with \"*/\""},
    {"a slots=4 max_slots=2", "1:1: error: max_slots is less than slots"},
    {"a slots=2 slots=3", "1:11: error: \"slots\" is given twice on this line"},
    {"a slots=2 cpu=3", "1:11: error: \"cpu\" is given twice on this line"},
    {"a\na slots=4\n", "2:1: error: \"a\" is already listed; give its slots on one line only"},
    {"a slots=2\nb slots=1\na slots=2\n",
     "3:1: error: \"a\" is already listed; give its slots on one line only"},
    {"a slots=-1", "1:9: error: slots must be a number from 0 to 100000"},
    {"a slots=x", "1:9: error: slots must be a number from 0 to 100000"},
    {"a slots=", "1:3: error: slots must be a number from 0 to 100000"},
    {"a slots=4extra", "1:9: error: slots must be a number from 0 to 100000"},  // DeepSpeed: 4
    {"a slots=100001", "1:9: error: slots must be a number from 0 to 100000"},
    {"a slots=99999999999999999999", "1:9: error: slots must be a number from 0 to 100000"},
    {"a SLOTS=2", "1:3: error: unknown setting \"SLOTS\"; write it in lower case"},
    {"a cores=4",
     "1:3: error: unknown setting \"cores\"; a host can have slots=, max_slots=, port= and "
     "username="},
    {"a sockets=2 slots=1",
     "1:3: error: unknown setting \"sockets\"; a host can have slots=, max_slots=, port= and "
     "username="},
    {"a slots=2 binding=x",
     "1:11: error: unknown setting \"binding\"; a host can have slots=, max_slots=, port= and "
     "username="},
    {"a slots=2 user=bob",
     "1:11: error: unknown setting \"user\"; a host can have slots=, max_slots=, port= and "
     "username="},
    {"a slots=2 port=0", "1:16: error: port must be a number from 1 to 65535"},
    {"a slots=2 port=65536", "1:16: error: port must be a number from 1 to 65535"},
    {"a slots=2 username=-l", "1:20: error: a user name cannot begin with '-'"},
    {"a slots=2 username=$(id)", "1:20: error: \"$\" cannot be part of a user name"},
    {"a:4 slots=2", "1:1: error: the slots are given twice: after ':' and after '='"},
    {"a 4", "1:3: error: it is unclear what \"4\" means; for slots write \"a slots=4\""},
    {"a slots 4", "1:3: error: \"slots\" has no value; write slots=4"},
    {"slots=4", "1:1: error: the name of the host is missing before \"slots\""},
    {"=4", "1:1: error: the name of the host is missing before \"=\""},
    {"slots\n",
     "1:1: error: \"slots\" is a hostfile keyword, not a host; give the host another name"},
    {"port slots=2",
     "1:1: error: \"port\" is a hostfile keyword, not a host; give the host another name"},
    {"rank 0=a slot=0",
     "1:1: error: this is a rankfile, which places individual ranks; a hostfile has a host on "
     "each line, such as \"gpu01 slots=4\""},
    {"a@b@c", "1:4: error: \"@\" cannot be part of a host name"},
    {"+n2", "1:1: error: relative hosts (\"+n1\", \"+e\") are not supported; write the name"},
    {"^a",
     "1:1: error: \"^\" to exclude a host is not supported; remove the line, or use --exclude"},
    {"a:4\nb slots=4\n",
     "2:1: error: this line has a different format (slots=4, the form of Open MPI and DeepSpeed) "
     "from line 1 (host:4, the form of MPICH)"},
    {"a slots=4\nb:4\n",
     "2:1: error: this line has a different format (host:4, the form of MPICH) from line 1 "
     "(slots=4, the form of Open MPI and DeepSpeed)"},
    {"a:x", "1:2: error: what follows ':' must be a number of slots, as in \"gpu[01-04]:8\""},
    {"a:0", "1:3: error: a host has 1 to 100000 slots"},
    {"a:2\nb:1\na:2\n",
     "3:1: error: \"a\" is already listed, with other hosts in between; MPICH would start a "
     "second group of ranks there, which dlaunch cannot do; put the lines of each host together"},
    {"a:2 numa=3",  // Hydra: "not supported"
     "1:5: error: unknown setting \"numa\"; a host can have slots=, max_slots=, port= and "
     "username="},
    {"a:2 b", "1:5: error: unexpected \"b\" after the host"},
    {"a 4 q r\nb q r\n", "2:3: error: the number of slots must be a number from 0 to 100000"},
    {"a 4 q r\nb\n", "2:1: error: the number of slots is missing after the host"},
    {"a,b\n", "1:1: error: write one host per line; a range such as gpu[01-04] counts as one"},
    {"-oProxyCommand=x\n", "1:1: error: the name of the host is missing before \"-oProxyCommand\""},
    {"-lroot\n", "1:1: error: a host name cannot begin with '-'"},
    {"-l@a\n", "1:1: error: a user name cannot begin with '-'"},
    {"a;reboot\n", "1:2: error: \";\" cannot be part of a host name"},
    {"$(reboot)\n", "1:1: error: \"$\" cannot be part of a host name"},
    {"`x`\n", "1:1: error: \"`\" cannot be part of a host name"},
    {"a\x1b[2J\n", "1:2: error: a control character; is this a text file?"},
    {"n[5-1] slots=2", "1:3: error: this range goes from the larger number to the smaller one"},
    {"n[0-65535]\nm\n",
     "2:1: error: the file names more than 65536 hosts, or more than 262144 host entries"},
    {"u@a\nv@a\n", "2:1: error: \"a\" is already listed with another user or port"},
    {"u@a slots=1 username=v\n", "1:1: error: two users are given for \"a\""},
};
INSTANTIATE_TEST_SUITE_P(All, BadHostfile, testing::ValuesIn(kBad));

TEST(Hostfile, TellsWhatItReadsOver) {
  const auto file = read_hostfile("10.0.0.1 worker0\n10.0.0.2 worker1\n", "h");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_THAT(file->notes, ElementsAre("h: text after the name has no effect (\"worker0\" "
                                       "on line 1, 1 more)"));
  const auto bound = read_hostfile("a:2 binding=user:0,2\n", "h");
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_THAT(bound->notes,
              ElementsAre("h: binding= has no effect (line 1); binding.cpus of the job applies"));
  const auto zero = read_hostfile("a slots=0\nb slots=2\n", "h");
  ASSERT_TRUE(zero) << zero.error().message;
  EXPECT_THAT(zero->notes, ElementsAre("h: a has slots=0 and is left out"));
  EXPECT_THAT(read_hostfile("a slots=2\n", "h")->notes, IsEmpty());
}

TEST(Hostfile, ShowsAllMistakesWithTheirLines) {
  const auto file = read_hostfile("a slots=2\nb slots=x\nc cores=3\n", "hosts.txt");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("hosts.txt:2:9: error: slots must be a number"));
  EXPECT_THAT(file.error().message, HasSubstr("    2 | b slots=x\n      |         ^"));
  EXPECT_THAT(file.error().message, HasSubstr("hosts.txt:3:3: error: unknown setting \"cores\""));
}

TEST(Hostfile, TakesEachSpellingOfTheSlotsOfOpenMpi) {
  for (const char* key :
       {"slots", "cpu", "count", "max_slots", "max-slots", "slots_max", "slots-max", "max_cpu",
        "max-cpu", "cpu_max", "cpu-max", "max_count", "max-count", "count_max", "count-max"}) {
    const auto file = read_hostfile(std::string("a ") + key + "=5", "h");
    ASSERT_TRUE(file) << key << ": " << file.error().message;
    EXPECT_EQ(file->hosts[0].slots, 5) << key;
  }
}

TEST(Hostfile, ManyLinesOfAHostAreQuick) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "node" + std::to_string(i % 1000) + "\n";
  const auto file = read_hostfile(text, "h");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->hosts.size(), 1000u);
  EXPECT_EQ(file->hosts[0].slots, 20);
}

TEST(Hostfile, RangesThatCoverEachOtherHaveAnEnd) {
  std::string ranges;
  for (int i = 0; i < 100; ++i) ranges += "n[0-65535]\n";
  const auto file = read_hostfile(ranges, "h");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("names more than 65536 hosts"));
}

TEST(Hostfile, LongLinesAndFilesAreRefused) {
  EXPECT_FALSE(read_hostfile(std::string(kMostHostfileBytes + 1, 'a'), "h"));
  EXPECT_FALSE(read_hostfile("a " + std::string(1'000'000, '='), "h"));
}

}  // namespace
}  // namespace dlaunch::jobfile
