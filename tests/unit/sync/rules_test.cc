#include "sync/rules.h"

#include <limits>

#include <gtest/gtest.h>

namespace dlaunch::sync {
namespace {

using Action = Decision::Action;
using Kind = SyncEntry::Kind;

TEST(SafePath, Table) {
  const std::string long_name(255, 'x');
  for (const std::string& good : {std::string("a"), std::string("a/b.c"), std::string("..."),
                                  std::string("a/.gitignore"), std::string("\xff/\n"), long_name})
    EXPECT_TRUE(is_safe_path(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string(".."), std::string("a/../b"), std::string("a/.."), std::string("./a"),
        std::string(".git"), std::string("a/.git/config"), std::string("a\0b", 3), long_name + "x"})
    EXPECT_FALSE(is_safe_path(bad)) << bad;
  std::string deep = "a";
  while (deep.size() < 4095) deep += "/a";
  EXPECT_TRUE(is_safe_path(deep));
  EXPECT_FALSE(is_safe_path(deep + "/a"));
}

TEST(SafePath, OwnNamesAreLeftOut) {
  EXPECT_TRUE(is_left_out(".git"));
  EXPECT_TRUE(is_left_out(".dlaunch-sync-0123"));
  EXPECT_TRUE(is_left_out(".dlaunch-part-0123"));
  EXPECT_FALSE(is_left_out(".gitignore"));
  EXPECT_FALSE(is_left_out("dlaunch"));
}

const SyncEntry kFile{"a", Kind::file, 0644, 10, 1000, ""};
const SyncEntry kFolder{"a", Kind::folder, 0755, 0, 0, ""};
const SyncEntry kLink{"a", Kind::link, 0, 0, 0, "b"};

TEST(SyncTimes, BeyondWhatFitsTheyStayAtTheLimit) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(nanoseconds(1, 5), 1'000'000'005);
  EXPECT_EQ(nanoseconds(-1, 999'999'999), -1);
  EXPECT_EQ(nanoseconds(9'223'372'036, 854'775'807), kLast);
  EXPECT_EQ(nanoseconds(9'223'372'036, 854'775'808), kLast);
  EXPECT_EQ(nanoseconds(15'032'385'535, 0), kLast) << "2446, the last one of ext4";
  EXPECT_EQ(nanoseconds(std::numeric_limits<std::int64_t>::max(), 999'999'999), kLast);
  EXPECT_EQ(nanoseconds(-20'000'000'000, 1), kFirst);
}

Found file(std::uint64_t size, std::int64_t mtime, std::uint32_t mode = 0644) {
  return {Found::Kind::file, mode, size, mtime};
}
const Found kNothing{};
const Found kOther{Found::Kind::other};
const Found kAFolder{Found::Kind::folder, 0755};
const Found kALink{Found::Kind::link, 0777, 0, 0, "b"};
const Found kAnotherLink{Found::Kind::link, 0777, 0, 0, "c"};

struct Row {
  const char* name;
  const SyncEntry& wanted;
  Found found;
  const SyncEntry* recorded;
  Decision expected;
};

TEST(Decide, Table) {
  const SyncEntry older{"a", Kind::file, 0644, 7, 900, ""};
  const SyncEntry far{"a", Kind::file, 0644, 10, std::numeric_limits<std::int64_t>::max(), ""};
  const SyncEntry other_link{"a", Kind::link, 0, 0, 0, "c"};
  const Row rows[] = {
      {"new file", kFile, kNothing, nullptr, {Action::send}},
      {"quick check", kFile, file(10, 1000), nullptr, {Action::keep}},
      {"whole seconds there", kFile, file(10, 0), nullptr, {Action::keep}},
      {"another second",
       kFile,
       file(10, -1'000'000'000),
       nullptr,
       {Action::compare, false, false, true}},
      {"mode", kFile, file(10, 1000, 0755), nullptr, {Action::set_mode}},
      {"a time beyond the limit",
       far,
       file(10, far.mtime),
       nullptr,
       {Action::compare, false, false, true}},
      {"other time", kFile, file(10, 999), nullptr, {Action::compare, false, false, true}},
      {"other size, foreign", kFile, file(11, 1000), nullptr, {Action::send, false, false, true}},
      {"ours and older", kFile, file(7, 900), &older, {Action::send}},
      {"ours, changed there", kFile, file(8, 950), &older, {Action::send, false, false, true}},
      {"folder in the way", kFile, kAFolder, nullptr, {Action::refuse}},
      {"our folder in the way", kFile, kAFolder, &kFolder, {Action::send, false, true}},
      {"link in the way", kFile, kALink, nullptr, {Action::send, false, false, true}},
      {"our link in the way", kFile, kALink, &kLink, {Action::send}},
      {"device in the way", kFile, kOther, nullptr, {Action::refuse}},
      {"new folder", kFolder, kNothing, nullptr, {Action::make}},
      {"folder", kFolder, kAFolder, nullptr, {Action::keep}},
      {"file where a folder is to be", kFolder, file(1, 1), nullptr, {Action::refuse}},
      {"our file there", kFolder, file(7, 900), &older, {Action::make, true}},
      {"link where a folder is to be", kFolder, kALink, nullptr, {Action::refuse}},
      {"our link there", kFolder, kALink, &kLink, {Action::make, true}},
      {"device there", kFolder, kOther, nullptr, {Action::refuse}},
      {"new link", kLink, kNothing, nullptr, {Action::make}},
      {"link", kLink, kALink, nullptr, {Action::keep}},
      {"other link", kLink, kAnotherLink, nullptr, {Action::make, true, false, true}},
      {"our other link", kLink, kAnotherLink, &other_link, {Action::make, true}},
      {"file where a link is to be", kLink, file(1, 1), nullptr, {Action::make, true, false, true}},
      {"folder where a link is to be", kLink, kAFolder, nullptr, {Action::refuse}},
      {"our folder there", kLink, kAFolder, &kFolder, {Action::make, false, true}},
  };
  for (const Row& row : rows) {
    const Decision decision = decide(row.wanted, row.found, row.recorded);
    EXPECT_EQ(decision.action, row.expected.action) << row.name;
    EXPECT_EQ(decision.clear, row.expected.clear) << row.name;
    EXPECT_EQ(decision.late, row.expected.late) << row.name;
    EXPECT_EQ(decision.replaces, row.expected.replaces) << row.name;
  }
  EXPECT_EQ(refusal(kFile, kAFolder), "is a folder there but a file at the source");
}

}  // namespace
}  // namespace dlaunch::sync
