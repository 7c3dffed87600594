// Unpacking in this process, from archives that are made here byte by byte; tests/cluster unpacks
// those of tar and zip.
#include "node/unpack/unpack_archive.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/unpack/unpack_record.h"
#include "os/files.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kTime = 1'500'000'000;

/// A member of a tar (POSIX.1 pax, "ustar Interchange Format").
std::string member(const std::string& name, char type, const std::string& content,
                   const std::string& target = {}, unsigned mode = 0640) {
  std::string header(512, '\0');
  const auto put = [&header](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  const auto octal = [](std::uint64_t number) {
    char digits[13];
    std::snprintf(digits, sizeof digits, "%011lo", static_cast<unsigned long>(number));
    return std::string(digits);
  };
  put(0, name);
  put(100, octal(mode).substr(4));
  put(124, octal(content.size()));
  put(136, octal(kTime));
  put(148, "        ");
  put(156, std::string(1, type));
  put(157, target);
  put(257, std::string("ustar\0", 6) + "00");
  unsigned long sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum).substr(5) + '\0');
  std::string padded = content;
  padded.resize((content.size() + 511) / 512 * 512);
  return header + padded;
}

std::string tar(std::initializer_list<std::string> members) {
  std::string all;
  for (const std::string& one : members) all += one;
  return all + std::string(1024, '\0');
}

class UnpackArchiveTest : public testing::Test {
 protected:
  UnpackArchiveTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-unpack-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    EXPECT_EQ(tree_.open(folder_, false), 0);
  }
  ~UnpackArchiveTest() override { fs::remove_all(folder_); }

  /// The archive has arrived as far as `arrived` says; then its hash is right.
  std::string unpack(const std::string& archive,
                     std::initializer_list<std::uint64_t> arrived = {}) {
    const std::string path = folder_ + "/archive";
    std::ofstream(path, std::ios::binary) << archive;
    const UniqueFd told(::eventfd(0, EFD_CLOEXEC));
    ArrivingFile file(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), duplicate(told.get()),
                      archive.size());
    UnpackArchive unpack({folder_, "data", 77}, file, [] {});
    std::thread agent([&] {
      for (const std::uint64_t more : arrived) add(told, more);
      std::uint64_t all = archive.size() + 1;
      for (const std::uint64_t more : arrived) all -= more;
      if (all < kGiveUp) add(told, all);
    });
    std::string problem = unpack.run();
    agent.join();
    skipped_ = unpack.skipped();
    fs::remove(path);
    return problem;
  }
  static void add(const UniqueFd& told, std::uint64_t more) {
    EXPECT_EQ(::write(told.get(), &more, sizeof more), ssize_t{sizeof more});
  }
  [[nodiscard]] std::string read(const std::string& path) const {
    std::ifstream file(folder_ + '/' + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      found.push_back(fs::relative(entry.path(), folder_).string());
    std::sort(found.begin(), found.end());
    return found;
  }
  [[nodiscard]] struct stat info(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(::lstat((folder_ + '/' + path).c_str(), &info), 0) << path;
    return info;
  }

  std::string folder_;
  SyncTree tree_;
  std::uint64_t skipped_ = 0;
};

TEST_F(UnpackArchiveTest, TakesThePlaceOfTheFolderWithModesAndTimes) {
  const std::string archive =
      tar({member("./", '5', "", "", 0750), member("./b/", '5', "", "", 0500),
           member("./b/x", '0', "text", "", 06755), member("c/d/y", '0', std::string(70000, 'y')),
           member("l", '2', "", "/elsewhere"), member("h", '1', "", "b/x"), member("p", '6', "")});
  ASSERT_EQ(unpack(archive, {1, 600, 10}), "");
  EXPECT_THAT(names(),
              testing::ElementsAre(".dlaunch-unpacked-data", "data", "data/b", "data/b/x", "data/c",
                                   "data/c/d", "data/c/d/y", "data/h", "data/l"));
  EXPECT_EQ(read("data/b/x"), "text");
  EXPECT_EQ(read("data/c/d/y"), std::string(70000, 'y'));
  EXPECT_EQ(info("data").st_mode & 07777, 0750U);
  EXPECT_EQ(info("data/b").st_mode & 07777, 0500U);
  EXPECT_EQ(info("data/b").st_mtim.tv_sec, kTime);
  EXPECT_EQ(info("data/b/x").st_mode & 07777, 0755U);  // without its set-id bits
  EXPECT_EQ(info("data/b/x").st_mtim.tv_sec, kTime);
  EXPECT_EQ(info("data/b/x").st_nlink, 2U);
  EXPECT_EQ(fs::read_symlink(folder_ + "/data/l"), "/elsewhere");
  EXPECT_EQ(skipped_, 1U);
  const auto record = load_unpack_record(tree_, "data");
  ASSERT_EQ(record.size(), 1U);
  EXPECT_EQ(record[0].size, archive.size());
  EXPECT_EQ(record[0].mtime, 77);
  EXPECT_TRUE(record[0].is_same_folder(*identity_of_folder(tree_, "data")));
}

TEST_F(UnpackArchiveTest, ReplacesOnlyWhatItHasUnpacked) {
  fs::create_directory(folder_ + "/data");
  std::ofstream(folder_ + "/data/precious") << "precious";
  EXPECT_THAT(unpack(tar({member("a", '0', "a")})),
              HasSubstr("dlaunch did not unpack what is in it"));
  EXPECT_THAT(names(), testing::ElementsAre("data", "data/precious"));
  fs::remove(folder_ + "/data/precious");
  EXPECT_EQ(unpack(tar({member("a", '0', "a")})), "");
  fs::permissions(folder_ + "/data", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(unpack(tar({member("b", '0', "b")})), "");
  EXPECT_THAT(names(), testing::ElementsAre(".dlaunch-unpacked-data", "data", "data/b"));
  // Between the two records: the folder counts as unpacked, whichever it is.
  auto record = load_unpack_record(tree_, "data");
  record.insert(record.begin(), sync::Unpacked{1, 2, 3, 4, 5});
  ASSERT_EQ(save_unpack_record(tree_, "data", record), 0);
  EXPECT_EQ(why_not_replaced(tree_, "data", load_unpack_record(tree_, "data")), "");
  fs::rename(folder_ + "/data", folder_ + "/kept");
  fs::copy(folder_ + "/kept", folder_ + "/data");
  EXPECT_NE(why_not_replaced(tree_, "data", record), "");
}

TEST_F(UnpackArchiveTest, LeavesNothingOfWhatItRefuses) {
  fs::create_directory(folder_ + "/beside");
  const std::string before = "beside";
  for (const std::string& archive :
       {tar({member("a", '0', "a"), member("../beside/x", '0', "x")}),
        tar({member("a", '0', "a"), member(folder_ + "/beside/x", '0', "x")}),
        tar({member("l", '2', "", "../../beside"), member("l/x", '0', "x")}),
        tar({member("l", '2', "", "../../beside"), member("l/d/", '5', "")}),
        tar({member("l", '2', "", folder_ + "/beside"), member("h", '1', "", "l/x")}),
        tar({member("h", '1', "", "../../beside/x")}), tar({member("h", '1', "", "/etc/passwd")}),
        tar({member("d/", '5', ""), member("d", '0', "x")}), tar({member(".", '0', "x")})}) {
    const std::string problem = unpack(archive);
    EXPECT_THAT(problem, HasSubstr("cannot be unpacked: its member ")) << archive.substr(0, 99);
    EXPECT_THAT(names(), testing::ElementsAre(before)) << problem;
  }
}

TEST_F(UnpackArchiveTest, NothingIsWrittenThroughALinkThatItReplaces) {
  std::ofstream(folder_ + "/precious") << "precious";
  ASSERT_EQ(unpack(tar({member("a", '2', "", folder_ + "/precious"), member("a", '0', "mine")})),
            "");
  EXPECT_EQ(read("precious"), "precious");
  EXPECT_EQ(read("data/a"), "mine");
}

TEST_F(UnpackArchiveTest, ATruncatedOne) {
  const std::string whole = tar({member("a", '0', std::string(3000, 'a')), member("b", '0', "b")});
  for (const std::size_t size : {whole.size() - 1024, whole.size() - 1024 - 512, std::size_t{2000}})
    EXPECT_THAT(unpack(whole.substr(0, size)), HasSubstr("cannot be unpacked: ")) << size;
  EXPECT_THAT(unpack(std::string(600, 'x')), HasSubstr("archives that can be unpacked: tar"));
  EXPECT_THAT(names(), testing::IsEmpty());
  EXPECT_EQ(unpack(tar({})), "");  // without members
  EXPECT_THAT(names(), testing::ElementsAre(".dlaunch-unpacked-data", "data"));
}

TEST_F(UnpackArchiveTest, GivesUpAndClearsUp) {
  const std::string archive = tar({member("a", '0', std::string(300000, 'a'))});
  EXPECT_THAT(unpack(archive, {1000, kGiveUp}), HasSubstr(errno_text(ECANCELED)));
  EXPECT_THAT(names(), testing::IsEmpty());
}

TEST_F(UnpackArchiveTest, OnlyOneAtATimeAndWhatOneHasLeftIsCleared) {
  fs::create_directories(folder_ + "/.dlaunch-unpack-data/content/deep/er");
  fs::permissions(folder_ + "/.dlaunch-unpack-data/content/deep", fs::perms::none);
  UniqueFd other = lock_own_folder(folder_ + "/.dlaunch-unpack-data");
  ASSERT_TRUE(other);
  EXPECT_THAT(unpack(tar({member("a", '0', "a")})), HasSubstr("another staging unpacks it"));
  other.reset();
  EXPECT_EQ(unpack(tar({member("a", '0', "a")})), "");
  EXPECT_THAT(names(), testing::ElementsAre(".dlaunch-unpacked-data", "data", "data/a"));
}

}  // namespace
}  // namespace dlaunch
