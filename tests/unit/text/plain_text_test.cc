#include "text/plain_text.h"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch {
namespace {

// ECMA-48: CSI ... final byte (5.4), OSC ... BEL or ST (5.6), ESC with an intermediate byte.
TEST(PlainLine, TakesOutEscapeSequences) {
  EXPECT_EQ(plain_line("\x1b[1;31mred\x1b[0m text"), "red text");
  EXPECT_EQ(plain_line("\x1b]0;title\x07"
                       "a\x1b]8;;http://x\x1b\\b"),
            "ab");
  EXPECT_EQ(plain_line("\x1b(Bok\x1b"
                       "7!"),
            "ok!");
  EXPECT_EQ(plain_line("cut \x1b[31"), "cut ");
  EXPECT_EQ(plain_line("cut \x1b"), "cut ");
}

TEST(PlainLine, MakesControlCharactersHarmless) {
  EXPECT_EQ(plain_line(std::string("a\0b\x07\x08\x7f", 6)), "a?b???");
  EXPECT_EQ(plain_line("c1 \xC2\x9B"
                       "31m"),
            "c1 ?31m")
      << "U+009B is CSI";
  EXPECT_EQ(plain_line("x\xE2\x80\xAEy"), "x?y") << "U+202E turns the direction of writing";
  EXPECT_EQ(plain_line("a\tb"), "a    b");
  EXPECT_EQ(plain_line("bad \xFF utf-8"), "bad \xEF\xBF\xBD utf-8");
}

TEST(PlainLine, KeepsTheLastStateOfAProgressBar) {
  EXPECT_EQ(plain_line("\r 10%\r 20%"), " 20%");
  EXPECT_EQ(plain_line(" 10%\r 20%\r"), " 20%");
  EXPECT_EQ(plain_line("line of a DOS file\r"), "line of a DOS file");
}

TEST(CutToColumns, CutsOnlyWhatIsTooLong) {
  EXPECT_EQ(cut_to_columns("12345", 5), "12345");
  EXPECT_EQ(cut_to_columns("123456", 5), "12...");
  EXPECT_EQ(cut_to_columns("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 5),
            "\xC3\xA9\xC3\xA9...");
}

TEST(PlainText, KeepsLinesAndBoundsThem) {
  EXPECT_EQ(plain_text("a\x1b[31m\n\nb\tc"), "a\n\nb    c\n");
  EXPECT_EQ(plain_text("123456\n1\n2\n3", 5, 2), "12...\n1\n... 2 more lines\n");
  EXPECT_EQ(plain_text(""), "");
}

}  // namespace
}  // namespace dlaunch
