#include "launch/console/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The output: continued parts start with '+'.
class Split {
  auto sink() {
    return [this](std::string_view text, bool continues) {
      lines.push_back((continues ? "+" : "") + std::string(text));
    };
  }

 public:
  explicit Split(std::size_t max_line = LineSplitter::kMaxLine) : splitter_(max_line) {}
  Split& add(std::string_view bytes) {
    splitter_.add(bytes, sink());
    return *this;
  }
  Split& finish() {
    splitter_.finish(sink());
    return *this;
  }
  std::vector<std::string> lines;
  [[nodiscard]] std::size_t held() const { return splitter_.held(); }
  [[nodiscard]] const BarRows* bars() const { return splitter_.bars(); }

 private:
  LineSplitter splitter_;
};

TEST(LineSplitter, JoinsPieces) {
  Split split;
  split.add("epo").add("ch 1\nloss").add("").add(" 0.4\n\nla");
  EXPECT_THAT(split.lines, ElementsAre("epoch 1", "loss 0.4", ""));
  EXPECT_EQ(split.held(), 2U);
  EXPECT_THAT(split.finish().lines, ElementsAre("epoch 1", "loss 0.4", "", "la"));
}

TEST(LineSplitter, NothingIsNoLine) {
  EXPECT_THAT(Split().add("").finish().lines, IsEmpty());
}

TEST(LineSplitter, TakesCrLfAsOneEnd) {
  EXPECT_THAT(Split().add("a\r\n\r\nb\r\r\n").lines, ElementsAre("a", "", "b"));
  EXPECT_THAT(Split().add("a\r").add("\nb").finish().lines, ElementsAre("a", "b"));
}

TEST(LineSplitter, ALoneCarriageReturnBeginsTheLineAnew) {
  // tqdm writes "\r" first, others last.
  EXPECT_THAT(Split().add("\r 10%").add("\r 20%").add("\r100%\nend\n").lines,
              ElementsAre("100%", "end"));
  EXPECT_THAT(Split().add(" 10%\r 20%\r").finish().lines, ElementsAre(" 20%"));
  EXPECT_THAT(Split().add("a\n\r").add("\r\nb\n").finish().lines, ElementsAre("a", "", "b"));
}

TEST(LineSplitter, AfterTheLastBarTextIsPlainAgain) {
  Split split;
  split.add("\r 10%");
  ASSERT_NE(split.bars(), nullptr);
  split.add("\nepoch 1\nepo");
  EXPECT_EQ(split.bars(), nullptr);
  EXPECT_EQ(split.held(), 3U);
  EXPECT_THAT(split.add("ch 2\n").lines, ElementsAre(" 10%", "epoch 1", "epoch 2"));
}

TEST(LineSplitter, ALongTextAfterACarriageReturnComesInParts) {
  const std::string text(3 * BarRows::kMaxRow, 'x');
  Split split(1000);
  split.add("\r").add(text).add("\n");
  std::size_t seen = 0;
  for (const std::string& line : split.lines) seen += line.size() - (line.starts_with('+') ? 1 : 0);
  EXPECT_EQ(seen, text.size());
}

TEST(LineSplitter, PartsALongLine) {
  Split split(4);
  EXPECT_THAT(split.add("abcd").lines, IsEmpty());
  EXPECT_THAT(split.add("efghij\nk\n").lines, ElementsAre("abcd", "+efgh", "+ij", "k"));
}

TEST(LineSplitter, DoesNotPartACodePoint) {
  EXPECT_THAT(Split(4)
                  .add("abc\xE2\x82\xAC"
                       "d\n")
                  .lines,
              ElementsAre("abc",
                          "+\xE2\x82\xAC"
                          "d"));
}

TEST(LineSplitter, HoldsNoMoreThanTheLimit) {
  Split split;
  const std::string piece(1000, 'x');
  for (int i = 0; i < 1000; ++i) {
    split.add(piece);
    ASSERT_LE(split.held(), LineSplitter::kMaxLine);
  }
  EXPECT_EQ(split.lines.size(), 15U);  // 1,000,000 / 65,536 whole parts
}

const auto stream_of = [](const char* bytes) {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string(bytes)));
};

TEST(LineSplitter, LinesDoNotDependOnHowTheStreamWasCut) {
  EXPECT_TRUE(rc::check("chunking does not matter", [] {
    const std::string stream = *stream_of("ab\n\n\r\x1b[A \xE2\x82\xAC");
    const std::size_t max_line = *rc::gen::inRange<std::size_t>(4, 9);
    Split whole(max_line);
    whole.add(stream).finish();
    Split cut(max_line);
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = *rc::gen::inRange<std::size_t>(1, 5);
      cut.add(std::string_view(stream).substr(at, size));
      at += size;
    }
    cut.finish();
    RC_ASSERT(whole.lines == cut.lines);
  }));
}

TEST(LineSplitter, NoTextIsLost) {
  EXPECT_TRUE(rc::check("all but line ends comes out", [] {
    const std::string stream = *stream_of("ab\n\xE2\x82\xAC");
    Split split(4);
    split.add(stream).finish();
    std::string expected;
    for (const char c : stream) {
      if (c != '\n') expected += c;
    }
    std::string seen;
    for (const std::string& line : split.lines) seen += line.substr(line.starts_with('+') ? 1 : 0);
    RC_ASSERT(seen == expected);
  }));
}

/// The output with its line ends, in pieces of `step`.
std::string passed(const std::string& bytes, std::size_t step) {
  LineSplitter splitter;
  std::string out;
  const auto sink = [&](std::string_view text, bool continues) {
    out += continues || out.empty() ? "" : "\n";
    out += text;
  };
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    splitter.add(std::string_view(bytes).substr(at, step), sink);
    EXPECT_EQ(splitter.bars(), nullptr) << "at " << at;
  }
  splitter.finish(sink);
  return out;
}

TEST(LineSplitter, BinaryDataAreNoProgressBar) {
  // Numerical Recipes' generator: the same bytes on every machine.
  std::uint32_t state = 1;
  std::string bytes(std::size_t{1} << 20, '\0');
  for (char& c : bytes) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24U);
  }
  bytes.insert(0, std::string("\xff\r", 2));
  EXPECT_EQ(passed(bytes, bytes.size()), bytes);
  EXPECT_EQ(passed(bytes, 7), bytes);
}

TEST(LineSplitter, AfterBinaryDataThereAreBarsAgain) {
  Split split;
  split.add(std::string("\0\r\1\n", 4));
  for (int i = 0; i < 8; ++i) split.add("a line\n");
  split.lines.clear();
  split.add(" 10%\r100%\n").add("end\n");
  EXPECT_THAT(split.lines, ElementsAre("100%", "end"));
}

}  // namespace
}  // namespace dlaunch
