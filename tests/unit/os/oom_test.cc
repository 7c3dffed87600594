// The records have the kernel's wording: mm/oom_kill.c (__oom_kill_process, dump_oom_victim)
// and Documentation/ABI/testing/dev-kmsg of the versions named.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "os/oom_record.h"
#include "os/oom_watch.h"

namespace dlaunch {
namespace {

using std::chrono::microseconds;

TEST(OomRecord, ReadsAKillByACgroupLimit) {
  // Linux 5.4 and newer.
  const auto kill = parse_oom_kill(
      "3,1402,2022955071,-;Memory cgroup out of memory: Killed process 20200 (python3) "
      "total-vm:69864kB, anon-rss:56704kB, file-rss:6648kB, shmem-rss:0kB, UID:0 pgtables:172kB "
      "oom_score_adj:0\n");
  ASSERT_TRUE(kill);
  EXPECT_EQ(*kill, (OomKill{20200, microseconds(2022955071), true, 56704ULL * 1024}));
}

TEST(OomRecord, ReadsAKillByTheWholeMachine) {
  const auto kill = parse_oom_kill(
      "3,88,77,c;Out of memory: Killed process 4711 (a) strange) name) total-vm:1kB, "
      "anon-rss:12582912kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0");
  ASSERT_TRUE(kill);
  EXPECT_EQ(*kill, (OomKill{4711, microseconds(77), false, 12582912ULL * 1024}));
  // vm.oom_kill_allocating_task (out_of_memory).
  const auto allocating = parse_oom_kill(
      "3,88,77,-;Out of memory (oom_kill_allocating_task): Killed process 9 (x) total-vm:1kB");
  ASSERT_TRUE(allocating);
  EXPECT_EQ(allocating->pid, 9);
  EXPECT_EQ(allocating->anonymous_bytes, std::nullopt);
}

TEST(OomRecord, ReadsTheWordingOfOlderKernels) {
  // Linux 3.10 (RHEL 7): no shmem-rss; the sentence begins the line.
  const auto kill = parse_oom_kill(
      "3,1,5,-;Killed process 4711 (python) total-vm:10kB, anon-rss:2048kB, file-rss:0kB");
  ASSERT_TRUE(kill);
  EXPECT_EQ(*kill, (OomKill{4711, microseconds(5), false, 2048ULL * 1024}));
}

TEST(OomRecord, TakesNothingElseForAKill) {
  for (const char* record :
       {"", "no record", "3,1,5,-;", "3,1,5,-;oom_reaper: reaped process 4711 (python)",
        // Before Linux 4.20 this announced the kill, with another process possibly chosen after it.
        "3,1,5,-;Out of memory: Kill process 4711 (python) score 900 or sacrifice child",
        // A program wrote this to /dev/kmsg: facility 1, LOG_USER (syslog(3)).
        "11,1,5,-;Out of memory: Killed process 4711 (python) total-vm:1kB",
        "3,1,5,-;driver: Killed process 4711 (python)",
        "3,1;Out of memory: Killed process 4711 (python)",
        "3,1,x,-;Out of memory: Killed process 4711 (python)",
        "3,1,5,-;Out of memory: Killed process (python)",
        // What follows the first line describes a device.
        "6,1,5,-;usb 1-1\nOut of memory: Killed process 4711 (python)"}) {
    EXPECT_FALSE(parse_oom_kill(record)) << record;
  }
}

TEST(OomRecord, FindsNumbersByTheirKey) {
  // memory.events of v2 (admin-guide/cgroup-v2.rst): oom_kill, not oom or oom_group_kill.
  constexpr std::string_view kEvents =
      "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
  EXPECT_EQ(keyed_number(kEvents, "oom_kill"), 2U);
  EXPECT_EQ(keyed_number(kEvents, "oom"), 3U);
  EXPECT_EQ(keyed_number(kEvents, "oom_k"), std::nullopt);
  // memory.oom_control of v1; oom_kill since Linux 4.13.
  EXPECT_EQ(keyed_number("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n", "oom_kill"), 5U);
  EXPECT_EQ(keyed_number("oom_kill_disable 0\nunder_oom 0\n", "oom_kill"), std::nullopt);
}

TEST(OomRecord, KnowsWhatIsNoLimit) {
  EXPECT_EQ(memory_limit("12884901888\n"), 12884901888U);
  EXPECT_EQ(memory_limit("max\n"), std::nullopt);
  EXPECT_EQ(memory_limit("9223372036854771712\n"), std::nullopt);  // v1, pages of 4 KiB
  EXPECT_EQ(memory_limit("9223372036854710272\n"), std::nullopt);  // v1, pages of 64 KiB
  EXPECT_EQ(memory_limit(""), std::nullopt);
}

TEST(OomRecord, SaysNoMoreThanIsKnown) {
  constexpr std::uint64_t kGiB = 1ULL << 30;
  const OomKill kill{1, microseconds(1), true, kGiB * 12 + kGiB * 3 / 10};
  EXPECT_EQ(describe_oom(kill, 12 * kGiB), "12.3 GiB anonymous; cgroup limit 12 GiB");
  EXPECT_EQ(describe_oom(std::nullopt, 512 * kGiB), "cgroup limit 512 GiB");
  EXPECT_EQ(describe_oom(std::nullopt, std::nullopt), "its cgroup counted the kill");
  OomKill global = kill;
  global.by_cgroup = false;
  EXPECT_EQ(describe_oom(global, 12 * kGiB), "12.3 GiB anonymous; the memory of the node was full");
}

class OomWatchTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = std::string(folder_) + '/' + name;
    std::ofstream(path) << text;
    return path;
  }

  char folder_[32] = "/tmp/oom-watch-XXXXXX";
};

TEST_F(OomWatchTest, EachCountedKillStandsForOneProcess) {
  OomSources sources;
  sources.counter = write("memory.events", "oom_kill 7\n");
  sources.limits = {write("inner", "max\n"), write("middle", "2147483648\n"),
                    write("outer", "4294967296\n"), std::string(folder_) + "/absent"};
  OomWatch watch(sources);
  watch.begin();
  EXPECT_EQ(watch.evidence(1), "");
  write("memory.events", "oom_kill 8\n");
  EXPECT_EQ(watch.evidence(1), "cgroup limit 2 GiB");
  EXPECT_EQ(watch.evidence(2), "");
  write("memory.events", "oom_kill 10\n");
  watch.begin();  // the next attempt
  EXPECT_EQ(watch.evidence(3), "");
}

TEST_F(OomWatchTest, TheKernelLogNamesTheProcess) {
  // A file gives as much as fits in one read(2), so it can hold only one record.
  OomSources sources;
  sources.kernel_log =
      write("kmsg", "3,1,99999999999999,-;Out of memory: Killed process 4711 (x) anon-rss:1024kB");
  OomWatch watch(sources);
  watch.begin();
  EXPECT_EQ(watch.evidence(4710), "");
  EXPECT_EQ(watch.evidence(4711), "1 MiB anonymous; the memory of the node was full");
}

TEST_F(OomWatchTest, TheKernelLogIsReadOnFromWhereItWas) {
  OomSources sources;
  sources.kernel_log =
      write("kmsg", "3,1,99999999999999,-;Out of memory: Killed process 4711 (x) anon-rss:1024kB");
  OomWatch watch(sources);
  watch.begin();
  EXPECT_EQ(watch.evidence(4710), "");
  // If it were read from its start again, the first record would be missing.
  std::ofstream(sources.kernel_log, std::ios::app)
      << "3,2,99999999999999,-;Out of memory: Killed process 4712 (x) anon-rss:2048kB";
  EXPECT_NE(watch.evidence(4712), "");
  std::filesystem::resize_file(sources.kernel_log, 0);
  EXPECT_NE(watch.evidence(4711), "") << "what was read once is known";
}

TEST_F(OomWatchTest, FaultsOfTheDriverOfGpusAreToldOnce) {
  // NVIDIA, "XID Errors"; the form of /dev/kmsg.
  constexpr const char* kFault =
      "2,1,99999999999999,-;NVRM: Xid (PCI:0000:83:00): 79, pid=4711, GPU has fallen off the bus.";
  OomSources sources;
  sources.kernel_log = write("kmsg", kFault);
  OomWatch watch(sources);
  watch.begin();
  EXPECT_EQ(watch.driver_faults(), std::string(kFault) + "\n");
  EXPECT_EQ(watch.driver_faults(), "");
  for (const char* other : {"10,1,99999999999999,-;NVRM: Xid (PCI:0000:83:00): 79, a program",
                            "2,1,5,-;NVRM: Xid (PCI:0000:83:00): 79, long ago"}) {
    OomSources others;
    others.kernel_log = write("other", other);
    OomWatch later(others);
    later.begin();
    EXPECT_EQ(later.driver_faults(), "") << other;
  }
}

TEST_F(OomWatchTest, WithoutAnyRecordsThereIsNoEvidence) {
  OomWatch watch(OomSources{"", {}, std::string(folder_) + "/absent"});
  watch.begin();
  EXPECT_EQ(watch.evidence(1), "");
}

}  // namespace
}  // namespace dlaunch
