#include "node/sync/stager.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// How an agent handles messages of a broken launcher.
class StagerTest : public testing::Test {
 protected:
  StagerTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-stage-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    root_ = folder_ + "/job";
  }
  ~StagerTest() override { fs::remove_all(folder_); }

  void begin() { stager_.on(wire::SyncBegin{1, root_, "", "laptop"}); }
  void entries(std::vector<SyncEntry> list) {
    wire::SyncEntries message{1, std::move(list), true};
    stager_.on(message);
    for (int i = 0; i < 100; ++i) loop_.poll();
  }
  [[nodiscard]] std::string problem() const {
    for (const wire::FromAgent& message : sent_) {
      if (const auto* done = std::get_if<wire::SyncDone>(&message)) return done->problem;
    }
    return "none";
  }

  std::string folder_;
  std::string root_;
  EventLoop loop_;
  std::vector<wire::FromAgent> sent_;
  const Environment no_variables_{};
  Stager stager_{loop_, no_variables_,
                 [this](const wire::FromAgent& message) { sent_.push_back(message); }};
};

TEST_F(StagerTest, PathsThatLeadOut) {
  for (const char* path :
       {"../x", "/etc/passwd", "a/../../x", "", ".git/hooks/post-commit", "a//b"}) {
    sent_.clear();
    begin();
    entries({{path, SyncEntry::Kind::file, 0644, 1, 1, ""}});
    EXPECT_THAT(problem(), HasSubstr("is not a path of a workdir")) << path;
  }
  begin();
  sent_.clear();
  entries({{"a", SyncEntry::Kind::folder, 0755, 0, 0, ""},
           {"a", SyncEntry::Kind::folder, 0755, 0, 0, ""}});
  EXPECT_THAT(problem(), HasSubstr("is not a path of a workdir"));
}

TEST_F(StagerTest, ContentOutOfOrder) {
  const std::vector<wire::SyncData::Piece> pieces[] = {
      {{7, 0, "x"}},                  // no such entry
      {{0, 0, "x"}},                  // a folder
      {{1, 1, "x"}},                  // not from the beginning
      {{1, 0, "12345"}},              // too long
      {{1, 0, "12"}, {1, 3, "3"}},    // a gap
      {{1, 0, "1234"}, {1, 0, "1"}},  // once more
  };
  for (const auto& one : pieces) {
    fs::remove_all(root_);
    sent_.clear();
    begin();
    entries({{"a", SyncEntry::Kind::folder, 0755, 0, 0, ""},
             {"a/x", SyncEntry::Kind::file, 0644, 4, 1, ""}});
    stager_.on(wire::SyncData{1, one});
    EXPECT_THAT(problem(), HasSubstr("out of order"));
  }
}

TEST_F(StagerTest, ContentBehindALink) {
  fs::create_directories(root_ + "/a");
  fs::create_directories(folder_ + "/outside");
  begin();
  entries({{"a", SyncEntry::Kind::folder, 0755, 0, 0, ""},
           {"a/x", SyncEntry::Kind::file, 0644, 4, 1, ""}});
  fs::remove(root_ + "/a");
  fs::create_symlink(folder_ + "/outside", root_ + "/a");  // by another process, during the sync
  stager_.on(wire::SyncData{1, {{1, 0, "text"}}});
  EXPECT_THAT(problem(), HasSubstr("/a/x: "));
  EXPECT_TRUE(fs::is_empty(folder_ + "/outside"));
}

TEST_F(StagerTest, OnlyWhatWasOfferedIsRemoved) {
  fs::create_directories(root_);
  std::ofstream(root_ + "/own") << "x";
  begin();
  entries({});
  stager_.on(wire::SyncRemove{1, {"own", "../job/own"}});
  stager_.on(wire::SyncEnd{1});
  EXPECT_EQ(problem(), "");
  EXPECT_TRUE(fs::exists(root_ + "/own"));
}

TEST_F(StagerTest, AnEndWithoutAllContent) {
  begin();
  entries({{"x", SyncEntry::Kind::file, 0644, 4, 1, ""}});
  stager_.on(wire::SyncData{1, {{0, 0, "te"}}});
  stager_.on(wire::SyncEnd{1});
  EXPECT_THAT(problem(), HasSubstr("its content was not sent"));
  EXPECT_FALSE(fs::exists(root_ + "/x"));
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 0);
}

}  // namespace
}  // namespace dlaunch
