// Compares the matcher with git itself: random patterns and paths from a small alphabet, so that
// most of them match. Skipped without git.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include <sys/wait.h>

#include "sync/gitignore.h"

namespace dlaunch::sync {
namespace {

namespace fs = std::filesystem;

class GitTest : public testing::Test {
 protected:
  GitTest() {
    std::string name = (fs::temp_directory_path() / "dlaunch-git-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~GitTest() override { fs::remove_all(folder_); }

  [[nodiscard]] bool git(const std::string& words) const {
    const std::string command = "cd '" + folder_.string() +
                                "' && GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git " +
                                words + " 2>/dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) <= 1;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// Those of `paths` that git excludes, also through an excluded parent.
  [[nodiscard]] std::set<std::string> left_out_by_git(const std::vector<std::string>& paths) const {
    std::string input;
    for (const std::string& path : paths) input += path + '\0';
    write("input", input);
    EXPECT_TRUE(git("check-ignore --no-index --stdin -z < input > output"));
    std::ifstream in(folder_ / "output", std::ios::binary);
    std::set<std::string> found;
    for (std::string path; std::getline(in, path, '\0');) found.insert(path);
    return found;
  }
  [[nodiscard]] bool left_out_by_us(const IgnoreRules& rules, const std::string& path) const {
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      if (rules.excludes(path.substr(0, end), true)) return true;
    return rules.excludes(path, fs::is_directory(folder_ / path));
  }

  fs::path folder_;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(engine_);
  }
  std::string text(const std::vector<std::string>& pieces, std::size_t most) {
    std::string all;
    for (std::size_t i = below(most) + 1; i > 0; --i) all += pieces[below(pieces.size())];
    return all;
  }

 private:
  std::mt19937 engine_;
};

std::vector<std::string> all_paths() {
  std::vector<std::string> paths;
  for (const std::string a : {"a", "b", "ab", "a.b", "]", "-", " a", "A"}) {
    paths.push_back(a);
    for (const std::string b : {"a", "b", "ba", "b.a", "a*", "b "}) {
      paths.push_back(a + '/' + b);
      for (const std::string c : {"a", "b", "aab", "\\", "\xc3\xa9"})
        paths.push_back(a + '/' + b + '/' + c);
    }
  }
  return paths;
}

TEST_F(GitTest, TheSameAsGit) {
  if (std::system("git --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no git";
  ASSERT_TRUE(git("init -q ."));
  const std::vector<std::string> pieces = {
      "a", "b",   "*",   "**",   "/",    "?",   "[ab]", "[!a]", ".",  "\\",  "!",
      " ", "**/", "/**", "[]-]", "[a-b", "\\ ", "#",    "]",    "/*", "*.a", "[[:alpha:]]"};
  const std::vector<std::string> paths = all_paths();
  for (const std::string& path : paths) fs::create_directories((folder_ / path).parent_path());
  for (const std::string& path : paths) {
    if (!fs::exists(folder_ / path)) write(path, "");
  }
  Random random(20261122);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (std::size_t lines = random.below(4) + 1; lines > 0; --lines)
      text += random.text(pieces, 7) + '\n';
    write(".gitignore", text);
    IgnoreRules rules;
    rules.enter("", text);
    const std::set<std::string> expected = left_out_by_git(paths);
    for (const std::string& path : paths)
      ASSERT_EQ(left_out_by_us(rules, path), expected.contains(path)) << path << " with\n"
                                                                      << text << "round " << round;
  }
}

}  // namespace
}  // namespace dlaunch::sync
