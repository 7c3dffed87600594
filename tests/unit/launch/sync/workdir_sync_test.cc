// Both ends of a sync, the launcher's and the agents', with real folders and without processes.
#include "launch/sync/workdir_sync.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "node/sync/stager.h"
#include "os/clock.h"
#include "sync/rules.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// Messages are delivered as on a channel: later, in order. A node's folder stands in for the same
/// path on another machine.
class WorkdirSyncTest : public testing::Test {
 protected:
  explicit WorkdirSyncTest(std::size_t nodes = 2) {
    std::string name = (fs::temp_directory_path() / "dlaunch-sync-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    settings_.list.root = folder_ + "/here";
    settings_.list.most_files = 20'000;
    settings_.list.most_bytes = 64 << 20;
    settings_.origin = "laptop";
    fs::create_directory(settings_.list.root);
    for (std::uint32_t i = 0; i < nodes; ++i) add_node(i);
  }
  ~WorkdirSyncTest() override { fs::remove_all(folder_); }

  void add_node(std::uint32_t i) {
    const std::string name = "node" + std::to_string(i + 1);
    settings_.nodes.push_back({NodeId(i), name});
    roots_.push_back(folder_ + '/' + name + "/job");
    const Environment& env = environments_.emplace_back(
        Environment{{"XDG_CACHE_HOME", folder_ + '/' + name + "/cache"}});
    stagers_.push_back(
        std::make_unique<Stager>(loop_, env, [this, i](const wire::FromAgent& message) {
          std::visit(
              [&](const auto& one) {
                if constexpr (wire::OneOf<std::decay_t<decltype(one)>, wire::SyncAnswer>) {
                  loop_.post([this, i, answer = wire::SyncAnswer(one)] {
                    if (!cut_) sync_.on(NodeId(i), answer);
                  });
                }
              },
              message);
        }));
  }
  void deliver(std::uint32_t node, wire::ToAgent message) {
    ++messages_;
    if (auto* begin = std::get_if<wire::SyncBegin>(&message)) begin->root = roots_[node];
    if (const auto* data = std::get_if<wire::SyncData>(&message)) {
      in_flight_ = std::max(in_flight_, sync::cost_of(*data));
      if (on_data_) on_data_(*data);
    }
    if (cut_ || node == silent_) return;
    loop_.post([this, node, message]() mutable {
      std::visit(
          [&](auto& one) {
            if constexpr (requires { stagers_[node]->on(one); }) stagers_[node]->on(one);
          },
          message);
    });
  }
  /// Runs a sync to its end.
  Result<SyncReport> run() {
    result_.reset();
    sync_.begin(settings_);
    const MonotonicTime end = monotonic_now() + std::chrono::seconds(60);
    while (!result_ && monotonic_now() < end) loop_.run_one(end);
    if (!result_) return fail(1, "it does not end");
    return *result_;
  }
  SyncReport good() {
    auto report = run();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : SyncReport{};
  }
  std::string error() {
    const auto report = run();
    EXPECT_FALSE(report);
    if (report) return "";
    EXPECT_EQ(report.error().exit_code, exit_code::kPreflight);
    return report.error().message;
  }

  void write(const std::string& path, const std::string& text = "x") const {
    write_at(settings_.list.root, path, text);
  }
  static void write_at(const std::string& root, const std::string& path, const std::string& text) {
    const fs::path whole = fs::path(root) / path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  [[nodiscard]] std::string text_on(std::size_t node, const std::string& path) const {
    std::ifstream in(roots_[node] + '/' + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// "path mode size mtime target" of everything below.
  static std::vector<std::string> picture(const std::string& root) {
    std::vector<std::string> lines;
    for (const auto& one : fs::recursive_directory_iterator(root)) {
      struct stat info {};
      ::lstat(one.path().c_str(), &info);
      std::string line =
          fs::relative(one.path(), root).string() + ' ' + std::to_string(info.st_mode);
      if (S_ISREG(info.st_mode))
        line += ' ' + std::to_string(info.st_size) + ' ' + std::to_string(info.st_mtim.tv_sec) +
                '.' + std::to_string(info.st_mtim.tv_nsec);
      if (S_ISLNK(info.st_mode)) line += ' ' + fs::read_symlink(one.path()).string();
      lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  void expect_equal_trees() const {
    for (const std::string& root : roots_) EXPECT_EQ(picture(root), picture(settings_.list.root));
  }

  std::string folder_;
  WorkdirSyncSettings settings_;
  std::vector<std::string> roots_;
  EventLoop loop_;
  std::deque<Environment> environments_;  // of the stagers
  std::vector<std::unique_ptr<Stager>> stagers_;
  std::optional<Result<SyncReport>> result_;
  std::function<void(const wire::SyncData&)> on_data_;
  bool cut_ = false;
  std::optional<std::uint32_t> silent_;
  std::uint64_t messages_ = 0;
  std::uint64_t in_flight_ = 0;
  WorkdirSync sync_{
      loop_,
      {[this](NodeId node, const wire::ToAgent& message) { deliver(node.value, message); },
       [this](Result<SyncReport> report) { result_ = std::move(report); },
       [](const std::string&) {}}};
};

TEST_F(WorkdirSyncTest, CopiesAllAndThenNothing) {
  write("src/train.py", "print(1)\n");
  write("empty-file", "");
  write("large", std::string(3'000'000, 'x') + "end");
  write(std::string("bytes-\xff\n"), "y");
  fs::create_directories(settings_.list.root + "/empty/deep");
  fs::permissions(settings_.list.root + "/src/train.py", fs::perms(0755));
  fs::permissions(settings_.list.root + "/empty", fs::perms(0555));
  fs::create_symlink("/nowhere/data", settings_.list.root + "/data");
  const SyncReport first = good();
  expect_equal_trees();
  ASSERT_EQ(first.nodes.size(), 2U);
  for (const SyncedNode& node : first.nodes) {
    EXPECT_FALSE(node.is_shared);
    EXPECT_EQ(node.files, 4U);
    EXPECT_EQ(node.bytes, 3'000'003U + 9 + 1);
    EXPECT_EQ(node.replaced, 0U);
  }
  EXPECT_EQ(first.extent, (SyncExtent{5, 3'000'013}));
  for (const SyncedNode& node : good().nodes) {
    EXPECT_EQ(node.files, 0U);
    EXPECT_EQ(node.bytes, 0U);
  }
  fs::permissions(settings_.list.root + "/empty", fs::perms(0755));
  for (const std::string& root : roots_) fs::permissions(root + "/empty", fs::perms(0755));
}

TEST_F(WorkdirSyncTest, OnlyWhatHasChangedIsSent) {
  for (int i = 0; i < 1000; ++i) write("many/" + std::to_string(i), std::to_string(i));
  EXPECT_EQ(good().nodes[0].files, 1000U);
  write("many/17", "changed");
  write("new", "n");
  fs::permissions(settings_.list.root + "/many/18", fs::perms(0700));
  const SyncReport second = good();
  EXPECT_EQ(second.nodes[0].files, 2U);
  EXPECT_EQ(second.nodes[1].bytes, 8U);
  EXPECT_EQ(second.nodes[0].replaced, 0U);  // it was ours
  expect_equal_trees();
}

TEST_F(WorkdirSyncTest, AnotherTimeWithTheSameContentIsNotSent) {
  write("a", std::string(2'500'000, 'a'));
  write("b", "same size 1");
  good();
  fs::last_write_time(settings_.list.root + "/a", fs::file_time_type::clock::now());
  write("b", "same size 2");
  const SyncReport report = good();
  EXPECT_EQ(report.nodes[0].files, 1U);
  EXPECT_EQ(report.nodes[0].bytes, 11U);
  expect_equal_trees();  // times too, so that the next one need not compare
}

TEST_F(WorkdirSyncTest, WhatIsGoneHereIsRemovedThereIfItWasOurs) {
  write("gone/a");
  write("gone/deep/b");
  write("gone2/c");
  write("ignored");
  write("changed-there");
  write("stays");
  good();
  write_at(roots_[0], "gone2/own", "of the node");
  write_at(roots_[0], "results/1", "of the node");
  write_at(roots_[0], "changed-there", "changed by the node");
  for (const char* name : {"gone", "gone2", "changed-there"})
    fs::remove_all(settings_.list.root + '/' + name);
  write(".gitignore", "ignored\n");  // still here, only left out
  const SyncReport report = good();
  EXPECT_FALSE(fs::exists(roots_[0] + "/gone"));
  EXPECT_FALSE(fs::exists(roots_[0] + "/gone2/c"));
  EXPECT_TRUE(fs::exists(roots_[0] + "/gone2/own"));
  EXPECT_TRUE(fs::exists(roots_[0] + "/results/1"));
  EXPECT_EQ(text_on(0, "changed-there"), "changed by the node");
  EXPECT_TRUE(fs::exists(roots_[0] + "/ignored"));
  EXPECT_TRUE(fs::exists(roots_[0] + "/stays"));
  EXPECT_EQ(report.nodes[0].removed, 5U);  // gone, a, deep, b, c
  EXPECT_FALSE(fs::exists(roots_[1] + "/gone2"));
  EXPECT_FALSE(fs::exists(roots_[1] + "/changed-there"));
  fs::remove(settings_.list.root + "/ignored");  // now it is gone
  EXPECT_EQ(good().nodes[0].removed, 1U);
  EXPECT_FALSE(fs::exists(roots_[0] + "/ignored"));
}

TEST_F(WorkdirSyncTest, ANodesOwnFilesAreReplacedWithANoticeAndNeverRemoved) {
  write("a", "ours");
  write("same", "same");
  write_at(roots_[0], "a", "another one");
  write_at(roots_[0], "same", "same");
  write_at(roots_[0], "own", "own");
  const SyncReport report = good();
  EXPECT_EQ(report.nodes[0].replaced, 1U);
  EXPECT_THAT(report.nodes[0].examples, ElementsAre("a"));
  EXPECT_EQ(report.nodes[1].replaced, 0U);
  EXPECT_EQ(text_on(0, "a"), "ours");
  EXPECT_EQ(text_on(0, "own"), "own");
  fs::remove(settings_.list.root + "/same");  // it was there before us
  good();
  EXPECT_TRUE(fs::exists(roots_[0] + "/same"));
  EXPECT_FALSE(fs::exists(roots_[1] + "/same"));
}

TEST_F(WorkdirSyncTest, KindsThatChangeHere) {
  write("file-to-folder");
  write("folder-to-file/a");
  write("folder-to-link/a");
  fs::create_symlink("x", settings_.list.root + "/link-to-file");
  fs::create_symlink("x", settings_.list.root + "/link-to-folder");
  good();
  for (const char* name :
       {"file-to-folder", "folder-to-file", "folder-to-link", "link-to-file", "link-to-folder"})
    fs::remove_all(settings_.list.root + '/' + name);
  write("file-to-folder/a");
  write("folder-to-file");
  fs::create_symlink("y", settings_.list.root + "/folder-to-link");
  write("link-to-file");
  write("link-to-folder/a");
  EXPECT_EQ(good().nodes[0].replaced, 0U);
  expect_equal_trees();
}

TEST_F(WorkdirSyncTest, WhatIsInTheWayIsNotRemoved) {
  write("data/a");
  fs::create_directories(folder_ + "/elsewhere");
  fs::create_directories(roots_[0]);
  fs::create_symlink(folder_ + "/elsewhere", roots_[0] + "/data");
  EXPECT_THAT(error(), HasSubstr("node1: " + roots_[0] +
                                 "/data: is a link there but a folder at the source"));
  EXPECT_TRUE(fs::is_empty(folder_ + "/elsewhere"));
}

TEST_F(WorkdirSyncTest, AFolderWithFilesOfTheNodeIsNotReplaced) {
  write("x/a");
  good();
  write_at(roots_[0], "x/own", "own");
  fs::remove_all(settings_.list.root + "/x");
  write("x", "now a file");
  EXPECT_THAT(error(), HasSubstr("/x: Directory not empty"));
  EXPECT_EQ(text_on(0, "x/own"), "own");
}

TEST_F(WorkdirSyncTest, EveryNodeThatHasNoPlaceIsTold) {
  write("a");
  for (const std::string& root : roots_) write_at(fs::path(root).parent_path(), "job", "a file");
  roots_[1] += "/deeper";
  const std::string text = error();
  EXPECT_THAT(text, HasSubstr("nothing was started"));
  EXPECT_THAT(text, HasSubstr("node1: " + roots_[0] + ": Not a directory"));
  EXPECT_THAT(text, HasSubstr("node2: " + roots_[1] + ": Not a directory"));
}

TEST_F(WorkdirSyncTest, ANodeThatSeesOurFolderGetsNothing) {
  write("a");
  roots_[1] = settings_.list.root;
  const SyncReport report = good();
  EXPECT_FALSE(report.nodes[0].is_shared);
  EXPECT_TRUE(report.nodes[1].is_shared);
  EXPECT_EQ(report.nodes[1].files, 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(settings_.list.root), {}),
            1);  // no marker is left
}

TEST_F(WorkdirSyncTest, MarkersOfKilledLaunchersAreRemoved) {
  const std::string old = settings_.list.root + "/.dlaunch-sync-" + std::string(32, '0');
  const std::string young = settings_.list.root + "/.dlaunch-sync-" + std::string(32, '1');
  write_at(settings_.list.root, fs::path(old).filename(), "");
  write_at(settings_.list.root, fs::path(young).filename(), "");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  good();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(WorkdirSyncTest, TwoNodesThatShareAFolder) {
  for (int i = 0; i < 300; ++i) write("d" + std::to_string(i % 7) + '/' + std::to_string(i));
  roots_[1] = roots_[0];
  const SyncReport report = good();
  EXPECT_EQ(report.nodes[0].replaced + report.nodes[1].replaced, 0U);
  expect_equal_trees();
}

TEST_F(WorkdirSyncTest, WhatChangesMeanwhileIsCopiedAgain) {
  write("a", std::string(400'000, 'a'));
  write("b", "b");
  on_data_ = [&](const wire::SyncData&) {
    on_data_ = nullptr;
    write("a", std::string(500'000, 'c'));
    fs::remove(settings_.list.root + "/b");
    write("new", "new");
  };
  good();
  EXPECT_EQ(text_on(0, "a"), std::string(500'000, 'c'));
  expect_equal_trees();
}

TEST_F(WorkdirSyncTest, AFileThatOnlyGrowsIsNoReasonToFail) {
  write("log", std::string(400'000, 'a'));
  on_data_ = [&](const wire::SyncData&) {
    std::ofstream(settings_.list.root + "/log", std::ios::app) << "more";
  };
  good();
  EXPECT_EQ(text_on(0, "log").substr(0, 400'000), std::string(400'000, 'a'));
}

TEST_F(WorkdirSyncTest, WhatIsRewrittenAgainAndAgainIsNamed) {
  write("state", std::string(400'000, 'a'));
  std::size_t size = 390'000;
  on_data_ = [&](const wire::SyncData&) { write("state", std::string(--size, 'b')); };
  EXPECT_THAT(error(), HasSubstr("files changed during each of 3 copies: state"));
  EXPECT_FALSE(fs::exists(roots_[0] + "/state"));
}

TEST_F(WorkdirSyncTest, WhatIsRewrittenInPlaceIsNotTakenForGrown) {
  for (const std::size_t more : {0U, 1000U}) {
    std::size_t size = 400'000;
    char content = 'a';
    write("state", std::string(size, content));
    on_data_ = [&](const wire::SyncData&) { write("state", std::string(size += more, ++content)); };
    EXPECT_THAT(error(), HasSubstr("files changed during each of 3 copies: state")) << more;
    EXPECT_FALSE(fs::exists(roots_[0] + "/state"));
  }
}

TEST_F(WorkdirSyncTest, ASyncThatIsInterruptedWhileItReplacesKnowsItsFilesAgain) {
  for (int i = 0; i < 20; ++i) write(std::to_string(i), std::string(200'000, 'x'));
  good();
  for (int i = 0; i < 20; ++i) write(std::to_string(i), std::string(200'001, 'y'));
  int pieces = 0;
  on_data_ = [&](const wire::SyncData&) {
    if (++pieces != 30) return;
    cut_ = true;
    loop_.post([this] { sync_.cancel(); });
    for (const auto& stager : stagers_) loop_.post([&stager] { stager->abandon(); });
    loop_.post([this] { result_ = fail(1, "cut"); });
  };
  EXPECT_FALSE(run());
  on_data_ = nullptr;
  cut_ = false;
  const bool first_is_new = fs::file_size(roots_[0] + "/0") == 200'001;
  EXPECT_TRUE(first_is_new);
  EXPECT_EQ(fs::file_size(roots_[0] + "/9"), 200'000U);
  for (const char* name : {"0", "9"}) fs::remove(settings_.list.root + '/' + name);
  const SyncReport report = good();
  EXPECT_EQ(report.nodes[0].replaced, 0U);
  EXPECT_EQ(report.nodes[0].removed, 2U);
  expect_equal_trees();
}

TEST_F(WorkdirSyncTest, AReadOnlyFolderThatAllNodesShareIsGood) {
  write("a");
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(settings_.list.root, fs::perms(0555));
  roots_[0] = roots_[1] = settings_.list.root;
  const bool is_root = ::geteuid() == 0;
  ASSERT_EQ(is_root ? ::seteuid(65534) : 0, 0);
  const SyncReport report = good();
  ASSERT_EQ(is_root ? ::seteuid(0) : 0, 0);
  fs::permissions(settings_.list.root, fs::perms(0755));
  ASSERT_EQ(report.nodes.size(), 2U);
  EXPECT_EQ(report.nodes[0].files, 0U);
}

TEST_F(WorkdirSyncTest, AnInterruptedSyncGoesOnWhereItStood) {
  for (int i = 0; i < 50; ++i) write(std::to_string(i), std::string(200'000, 'x'));
  int pieces = 0;
  on_data_ = [&](const wire::SyncData&) {
    if (++pieces == 60) {
      cut_ = true;
      loop_.post([this] { sync_.cancel(); });
      for (const auto& stager : stagers_) loop_.post([&stager] { stager->abandon(); });
      loop_.post([this] { result_ = fail(1, "cut"); });
    }
  };
  EXPECT_FALSE(run());
  on_data_ = nullptr;
  cut_ = false;
  std::size_t whole = 0;
  for (const auto& one : fs::directory_iterator(roots_[0])) {
    ++whole;
    EXPECT_EQ(fs::file_size(one.path()), 200'000U) << one.path();
  }
  EXPECT_GT(whole, 0U);
  const SyncReport report = good();
  EXPECT_EQ(report.nodes[0].files, 50 - whole);
  expect_equal_trees();
  fs::remove(settings_.list.root + "/0");  // sent by the interrupted sync: ours nevertheless
  good();
  EXPECT_FALSE(fs::exists(roots_[0] + "/0"));
}

TEST_F(WorkdirSyncTest, UnreadableHere) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  write("a");
  fs::permissions(settings_.list.root + "/a", fs::perms(0));
  EXPECT_THAT(error(), HasSubstr("/a: Permission denied"));
}

TEST_F(WorkdirSyncTest, ASilentNodeIsGivenUp) {
  write("a");
  cut_ = true;
  settings_.stall = Duration(300);
  EXPECT_THAT(error(), HasSubstr("node1: has accepted no data for 300 ms"));
}

TEST_F(WorkdirSyncTest, WhoHasAnsweredIsNotBlamedForASilentOne) {
  write("a");
  silent_ = 1;
  settings_.stall = Duration(300);
  EXPECT_THAT(error(), HasSubstr("node2: has accepted no data for 300 ms"));
}

TEST_F(WorkdirSyncTest, NonsenseOfAnAgent) {
  write("a", "text");
  sync_.begin(settings_);
  sync_.on(NodeId(7), wire::SyncFolder{1, false});
  sync_.on(NodeId(0), wire::SyncWants{1, {0, 99}, {{99, {}}}, {"../x"}, true});
  sync_.on(NodeId(0), wire::SyncTaken{1, ~std::uint64_t{0}});
  const MonotonicTime end = monotonic_now() + std::chrono::seconds(60);
  bool sent = false;
  on_data_ = [&](const wire::SyncData&) {
    if (std::exchange(sent, true)) return;
    loop_.post([this] { sync_.on(NodeId(0), wire::SyncWants{1, {0, 0, 7}, {{0, {}}}, {}, true}); });
  };
  while (!result_ && monotonic_now() < end) loop_.run_one(end);
  ASSERT_TRUE(result_.has_value());
  ASSERT_TRUE(*result_) << result_->error().message;
  expect_equal_trees();
}

}  // namespace
}  // namespace dlaunch
