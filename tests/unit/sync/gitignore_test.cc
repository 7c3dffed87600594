// The rules of gitignore(5), one row each. gitignore_git_test.cc compares with git itself.
#include "sync/gitignore.h"

#include <gtest/gtest.h>

namespace dlaunch::sync {
namespace {

struct Row {
  const char* pattern;  // the text of a .gitignore
  const char* path;     // with '/' at its end: a folder
  bool left_out;
};

bool excludes(const std::string& text, std::string path) {
  IgnoreRules rules;
  rules.enter("", text);
  const bool is_folder = path.ends_with('/');
  if (is_folder) path.pop_back();
  return rules.excludes(path, is_folder);
}

const Row kRows[] = {
    // blank lines, comments, spaces
    {"", "a", false},
    {"\n\n", "a", false},
    {"# a", "# a", false},
    {"\\#a", "#a", true},
    {"a   ", "a", true},
    {"a\\ ", "a ", true},
    {"a\\  ", "a ", true},
    {"a\t", "a", false},
    {"a\t", "a\t", true},
    {" a", " a", true},
    {"a\r\n", "a", true},
    {"\xef\xbb\xbf"
     "a",
     "a", true},
    // without a slash: at every depth
    {"a", "a", true},
    {"a", "x/y/a", true},
    {"a", "x/ab", false},
    {"*.pyc", "x/y.pyc", true},
    {"*.pyc", "pyc", false},
    {"*", "x", true},
    // with one: relative to the file's folder
    {"/a", "a", true},
    {"/a", "x/a", false},
    {"x/a", "x/a", true},
    {"x/a", "y/x/a", false},
    {"/x/*.o", "x/a.o", true},
    {"/x/*.o", "x/y/a.o", false},
    // folders only
    {"a/", "a/", true},
    {"a/", "a", false},
    {"a/", "x/a/", true},
    {"/a/", "x/a/", false},
    {"x/a/", "x/a/", true},
    // negation: the last one that matches counts
    {"*.log\n!keep.log", "keep.log", false},
    {"*.log\n!keep.log", "x.log", true},
    {"!keep.log\n*.log", "keep.log", true},
    {"\\!a", "!a", true},
    {"!", "a", false},
    // wildcards stop at a slash
    {"a?c", "abc", true},
    {"x/?", "x/y", true},
    {"x?y", "x/y", false},
    {"x/*", "x/y", true},
    {"x/*", "x/y/z", false},
    {"x/*/z", "x/y/z", true},
    {"x/*/z", "x/z", false},
    // two asterisks
    {"**", "x/y", true},
    {"**/a", "a", true},
    {"**/a", "x/y/a", true},
    {"**/x/a", "y/x/a", true},
    {"x/**", "x/y/z", true},
    {"x/**", "x/", false},
    {"x/**/z", "x/z", true},
    {"x/**/z", "x/y/y/z", true},
    {"x/**/z", "xz", false},
    {"x/**/**/z", "x/z", true},
    {"/**/a", "a", true},
    {"/**", "a", true},
    {"/a**b/c", "axxb/c", true},
    {"/ac**/b", "acx/y/b", true},  // git compares the plain "ac" by itself
    {"a**b", "axxb", true},
    // sets
    {"[ab].c", "a.c", true},
    {"[ab].c", "c.c", false},
    {"[a-c]", "b", true},
    {"[!a-c]", "b", false},
    {"[!a-c]", "d", true},
    {"[^a]", "a", false},
    {"[]]", "]", true},
    {"[!]]", "a", true},
    {"[a-]", "-", true},
    {"[\\]]", "]", true},
    {"[[:digit:]]x", "7x", true},
    {"[[:digit:]]x", "ax", false},
    {"[![:space:]]", "a", true},
    {"[[:nonsense:]]", "a", false},
    {"[a", "[a", false},
    {"x[/]y", "x/y", false},
    {"x/[!a]", "x/b", true},
    {"x[!a]y", "x/y", false},
    // backslashes
    {"\\*", "*", true},
    {"\\*", "a", false},
    {"a\\", "a", false},
    {"a\\", "a\\", false},
    {"\\a", "a", true},
};

TEST(Gitignore, Table) {
  for (const Row& row : kRows)
    EXPECT_EQ(excludes(row.pattern, row.path), row.left_out)
        << '"' << row.pattern << "\" and " << row.path;
}

TEST(Gitignore, ADeeperFileCountsMore) {
  IgnoreRules rules;
  rules.enter("", "*.log\n/data\n");
  rules.enter("x/", "!important.log\n/data\n");
  EXPECT_TRUE(rules.excludes("x/a.log", false));
  EXPECT_FALSE(rules.excludes("x/important.log", false));
  EXPECT_TRUE(rules.excludes("x/data", false));  // relative to the folder of the file
  EXPECT_FALSE(rules.excludes("x/y/data", false));
  rules.leave();
  EXPECT_TRUE(rules.excludes("important.log", false));
}

TEST(Gitignore, BytesAreBytes) {
  EXPECT_TRUE(excludes("\xff*", "\xff\xfe"));
  EXPECT_TRUE(excludes("caf\xc3\xa9", "caf\xc3\xa9"));
  EXPECT_TRUE(excludes("[\x80-\xff]x", "\xe9x"));
}

/// A backtracking matcher would take far too long for these.
TEST(Gitignore, NoPatternTakesForever) {
  std::string stars;
  std::string folders;
  for (int i = 0; i < 200; ++i) {
    stars += "*a";
    folders += "**/a/";
  }
  const std::string path(4000, 'a');
  EXPECT_FALSE(excludes(stars + "b", path));
  EXPECT_FALSE(excludes(folders + "b", path));
  EXPECT_FALSE(excludes(std::string(1 << 20, '*'), "a"));  // longer than any path: passed over
}

}  // namespace
}  // namespace dlaunch::sync
