// What counts as an archive, which members stay in the folder, and the record.
#include "sync/unpack_rules.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace dlaunch::sync {
namespace {

/// A header of a member "a", as far as it is looked at.
std::string tar_header(char filler) {
  std::string header(kArchiveBeginning, '\0');
  header[0] = filler;
  long sum = 8 * ' ';
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char digits[9];
  std::snprintf(digits, sizeof digits, "%06lo", sum);
  return header.replace(148, 8, std::string(digits) + '\0' + ' ');
}

TEST(Archives, AreKnownByTheirBeginning) {
  using std::string_literals::operator""s;
  for (const std::string& beginning :
       {"\x1f\x8b\x08"s, "\xfd"s + "7zXZ\0"s, "\x28\xb5\x2f\xfd"s, "BZh91AY"s, "PK\x03\x04"s,
        "PK\x05\x06"s, tar_header('a'), tar_header('\xe4'), std::string(512, '\0')})
    EXPECT_TRUE(is_archive(beginning)) << beginning;
  std::string damaged = tar_header('a');
  damaged[1] = 'b';
  for (const std::string& beginning :
       {""s, "{\"a\": 1}"s, "\xfd"s + "7zXZ"s, tar_header('a').substr(0, 511), damaged,
        std::string(100, '\0')})
    EXPECT_FALSE(is_archive(beginning)) << beginning;
  EXPECT_TRUE(is_zip("PK\x03\x04"));
  EXPECT_FALSE(is_zip(tar_header('P')));
}

TEST(Archives, MembersStayInTheFolder) {
  EXPECT_EQ(member_path("a/b"), "a/b");
  EXPECT_EQ(member_path("./a//b/./c/"), "a/b/c");
  EXPECT_EQ(member_path("a/..b/...\n"), "a/..b/...\n");
  EXPECT_EQ(member_path(".git/config"), ".git/config");
  EXPECT_EQ(member_path("."), ".");
  EXPECT_EQ(member_path("././"), ".");
  EXPECT_EQ(member_path(std::string(255, 'a')), std::string(255, 'a'));
  using std::string_view_literals::operator""sv;
  for (const std::string_view name :
       {""sv, "/"sv, "/a"sv, ".."sv, "../a"sv, "a/../b"sv, "a/.."sv, "./.."sv, "a\0b"sv})
    EXPECT_FALSE(member_path(name)) << name;
  EXPECT_FALSE(member_path(std::string(256, 'a')));
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += "a/";
  EXPECT_FALSE(member_path(deep));
}

TEST(Archives, ARecordIsReadAsItWasWritten) {
  const std::vector<Unpacked> record{{7, -1, 8, 9, 10}, {UINT64_MAX, INT64_MIN, 0, 1, 0}};
  EXPECT_EQ(read_record(record_text(record)), record);
  EXPECT_EQ(read_record(""), std::vector<Unpacked>());
  EXPECT_EQ(read_record("1 2 3 4\n1 2 3 4 5 6\na b c d e\n-1 2 3 4 5\n1 2 3 4 5\n1 2 3"),
            (std::vector<Unpacked>{{1, 2, 3, 4, 5}}));
}

TEST(Archives, AnInodeThatIsUsedAgainIsAnotherFolder) {
  const Unpacked one{7, 8, 1, 2, 3};
  EXPECT_TRUE(one.is_same_folder({0, 0, 1, 2, 3}));
  EXPECT_FALSE(one.is_same_folder({7, 8, 1, 2, 4}));
  EXPECT_FALSE(one.is_same_folder({7, 8, 1, 3, 3}));
  EXPECT_TRUE(one.is_same_folder({7, 8, 0, 2, 3})) << "devices are numbered anew";
  const Unpacked unborn{0, 0, 1, 2, 0};
  EXPECT_TRUE(unborn.is_same_folder({7, 8, 1, 2, 0}));
  EXPECT_FALSE(unborn.is_same_folder({7, 8, 0, 2, 0}));
}

TEST(Archives, TheirNamesBesideTheFolder) {
  const std::string name(kMostUnpackName, 'n');
  for (const std::string& beside :
       {archive_beside(name), unpacking_beside(name), record_beside(name)})
    EXPECT_LE(beside.size(), 255U);
}

}  // namespace
}  // namespace dlaunch::sync
