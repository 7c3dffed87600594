#include "jobfile/shell_quote.h"

#include <gtest/gtest.h>

namespace dlaunch::jobfile {
namespace {

TEST(ShellQuote, ALineIsReadAgain) {
  const std::vector<std::string> words{"a",   "",   "two words", "it's", "A=b",
                                       "--x", "\\", "''",        "$(id)"};
  EXPECT_EQ(words_of_line(shell_line(words)), words);
  EXPECT_TRUE(words_of_line("").empty());
  EXPECT_TRUE(words_of_line("   ").empty());
}

TEST(ShellQuote, AnyLineHasWords) {
  EXPECT_EQ(words_of_line("'a b"), std::vector<std::string>{"a b"});
  EXPECT_EQ(words_of_line("a\\"), std::vector<std::string>{"a\\"});
  EXPECT_EQ(words_of_line(" a  b\\ c "), (std::vector<std::string>{"a", "b c"}));
}

}  // namespace
}  // namespace dlaunch::jobfile
