#include "text/wrap.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(Wrap, AStatementThatFitsIsOneLine) {
  EXPECT_EQ(wrapped_statement("killing 2 ranks now"), "dlaunch: killing 2 ranks now");
  const std::string fits(71, 'x');  // 80 columns with the name
  EXPECT_EQ(wrapped_statement(fits.substr(0, 69) + " y"), "dlaunch: " + fits.substr(0, 69) + " y");
  EXPECT_EQ(wrapped_statement(fits + " y"), "dlaunch: " + fits + "\n         y");
}

TEST(Wrap, ALongWordIsNotBroken) {
  const std::string path(100, 'p');
  std::string out = "before\n";
  append_wrapped(out, "- ", "  ", "a " + path + " b");
  EXPECT_EQ(out, "before\n- a\n  " + path + "\n  b\n");
}

TEST(Wrap, AsWideAsIsAsked) {
  std::string out;
  append_wrapped(out, "> ", "  ", "one two three", 9);
  EXPECT_EQ(out, "> one two\n  three\n");
  EXPECT_EQ(wrapped_statement("one two", 12), "dlaunch: one\n         two");
}

}  // namespace
}  // namespace dlaunch
