#include "node/stage/environment_needs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
namespace fs = std::filesystem;

/// A folder here, and what a staging of it would copy.
class EnvironmentNeedsTest : public testing::Test {
 protected:
  EnvironmentNeedsTest() {
    EXPECT_NE(::mkdtemp(base_), nullptr);
    here_ = std::string(base_) + "/venv";
    fs::create_directories(here_);
    targets_ = sources_ = {here_};
  }
  ~EnvironmentNeedsTest() override { fs::remove_all(base_); }

  void file(const std::string& path, const std::string& content = {}) {
    fs::create_directories((here_ / fs::path(path)).parent_path());
    std::ofstream(here_ / fs::path(path)) << content;
    add(path, SyncEntry::Kind::file);
  }
  void link(const std::string& path, const std::string& target) {
    fs::create_directories((here_ / fs::path(path)).parent_path());
    fs::create_symlink(target, here_ / fs::path(path));
    add(path, SyncEntry::Kind::link);
    entries_.back().entry.target = target;
  }
  std::string outside(const std::string& name) {
    const std::string path = std::string(base_) + '/' + name;
    fs::create_directories(path);
    return path;
  }
  void add(const std::string& path, SyncEntry::Kind kind) {
    SyncEntry entry;
    entry.path = path;
    entry.kind = kind;
    entries_.push_back({0, entry});
  }
  StagedEnvironments find() {
    return staged_environments({roots_.empty() ? targets_ : roots_, targets_, sources_, entries_,
                                [this](std::uint32_t entry) {
                                  return (here_ / fs::path(entries_[entry].entry.path)).string();
                                }});
  }
  std::vector<std::string> needs() {
    std::vector<std::string> paths;
    for (const auto& need : find().needs) paths.push_back(need.path);
    return paths;
  }

  char base_[32] = "/tmp/dlaunch-needs-XXXXXX";
  fs::path here_;
  std::vector<std::string> targets_;
  std::vector<std::string> sources_;
  std::vector<std::string> roots_;
  std::vector<StageEntry> entries_;
};

TEST_F(EnvironmentNeedsTest, OnlyEnvironmentsAreLookedAt) {
  const std::string python = outside("python");
  link("bin/python", python);
  file("site-packages/x.pth", python + "\n");
  EXPECT_THAT(needs(), IsEmpty());
  file("pyvenv.cfg");
  EXPECT_THAT(needs(), ElementsAre(python));
  EXPECT_EQ(find().needs[0].environment, here_);
  targets_.push_back(python);  // staged too
  roots_ = {here_};
  EXPECT_THAT(needs(), IsEmpty());
}

TEST_F(EnvironmentNeedsTest, AnEnvironmentBelowWhatIsStaged) {
  const std::string other = outside("other");
  const std::string more = outside("more");
  file("job/.venv/pyvenv.cfg");
  link("job/.venv/bin/python", "../../../../other/");  // relative, out of what is staged
  link("job/.venv/lib64", "lib");
  link("job/.venv/gone", "/there/is/no/such/file");
  link("job/data", more);  // not in the environment
  EXPECT_THAT(needs(), ElementsAre(other));
  EXPECT_EQ(find().needs[0].environment, here_ / "job/.venv");
}

TEST_F(EnvironmentNeedsTest, EditablePackages) {
  const std::string one = outside("one");
  const std::string two = outside("two words");
  add("conda-meta", SyncEntry::Kind::folder);
  file("lib/site-packages/a.pth", "import this\n\n" + one + " \nrelative\n/not/there\n");
  const std::string url = "file://" + std::string(base_) + "/two%20words";
  const std::string info = R"({"url": ")" + url + R"(", "dir_info": {"editable": )";
  file("lib/a/direct_url.json", info + "false}}");
  EXPECT_THAT(needs(), ElementsAre(one));
  file("lib/b/direct_url.json", info + "true}}");
  for (const char* text :
       {"", "{", "[]", R"({"dir_info": 1})", R"({"dir_info": {"editable": true}})",
        R"({"dir_info": {"editable": true}, "url": "file://%"})",
        R"({"dir_info": {"editable": true}, "url": "https://a/b"})"})
    file("lib/" + std::to_string(entries_.size()) + "/direct_url.json", text);
  EXPECT_THAT(needs(), ElementsAre(one, two));
}

TEST_F(EnvironmentNeedsTest, OnlyPathFilesOfPythonAreRead) {
  const std::string one = outside("one");
  file("pyvenv.cfg");
  file("lib/site-packages/lpips/weights/alex.pth", one + "\n");
  file("lib/site-packages/odd.pth", std::string("/\0tmp\n", 6));
  EXPECT_THAT(needs(), IsEmpty());
}

TEST_F(EnvironmentNeedsTest, ACopyOfPythonNeedsItsHome) {
  const std::string home = outside("python/bin");
  file("pyvenv.cfg", "home = " + home + "\nversion = 3.11.2\n");
  EXPECT_THAT(needs(), IsEmpty());
  file("bin/python");
  EXPECT_THAT(needs(), ElementsAre(home));
}

TEST_F(EnvironmentNeedsTest, AProjectThatIsInstalledInItsOwnEnvironment) {
  file("src/train.py");
  file(".venv/pyvenv.cfg");
  file(".venv/lib/site-packages/_train.pth", (here_ / "src").string() + "\n");
  targets_ = {"/local/job"};
  EXPECT_THAT(needs(), IsEmpty()) << "it is staged, if to another path";
  EXPECT_THAT(find().moved, ElementsAre("/local/job/.venv"));
}

TEST_F(EnvironmentNeedsTest, AnotherPathIsNoted) {
  file("pyvenv.cfg");
  EXPECT_THAT(find().moved, IsEmpty());
  targets_ = {"/local/venv"};
  EXPECT_THAT(find().moved, ElementsAre("/local/venv"));
}

TEST_F(EnvironmentNeedsTest, ManyNeeds) {
  file("pyvenv.cfg");
  for (int i = 0; i < 100; ++i) link(std::to_string(i), outside("cache-" + std::to_string(i)));
  const auto found = find();
  EXPECT_THAT(found.needs, SizeIs(64));
  EXPECT_THAT(advice_on(found.needs), SizeIs(4));
}

TEST_F(EnvironmentNeedsTest, TheAdviceNamesTheFolderOfAPython) {
  const std::string python = outside("python");
  outside("python/bin");
  std::ofstream(outside("python/lib/python3.12") + "/os.py");
  EXPECT_THAT(advice_on({{python + "/bin/python3.12", "/venv"}, {python + "/bin", "/venv"}}),
              ElementsAre("stage it too, to the same path: {from: " + python + "}"));
  const std::string install =
      " on these nodes, or make the environment with a Python that can be staged (uv, conda)";
  EXPECT_THAT(advice_on({{"/usr/bin/python3.11", "/venv"}}),
              ElementsAre("install python3.11" + install));
  EXPECT_THAT(advice_on({{"/home/me/bin/python3", "/venv"}}),
              ElementsAre("install python3" + install))
      << "not the home folder";
  EXPECT_THAT(
      advice_on({{"/usr/lib/python3/dist-packages", "/venv"}}),
      ElementsAre(
          "install the package that contains /usr/lib/python3/dist-packages on these nodes"));
  EXPECT_THAT(advice_on({{"/home/me/src", "/venv"}, {"/home/me/a, b", "/venv"}}),
              ElementsAre("stage it too, to the same path: {from: /home/me/src}",
                          "stage it too, to the same path: {from: \"/home/me/a, b\"}"));
}

}  // namespace
}  // namespace dlaunch
