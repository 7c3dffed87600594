#include "text/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <string>

namespace dlaunch {
namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

// RFC 8259 section 7: quotation mark, reverse solidus and U+0000..U+001F must be escaped.
TEST(JsonText, EscapesWhatMustBe) {
  EXPECT_EQ(json_of("a\"b\\c\n\r\t\x01\x1f"), R"("a\"b\\c\n\r\t\u0001\u001f")");
  EXPECT_EQ(json_of(std::string("\0", 1)), R"("\u0000")");
  EXPECT_EQ(json_of("gr\xC3\xBC\xC3\x9F"), "\"gr\xC3\xBC\xC3\x9F\"");
}

TEST(JsonText, ReplacesInvalidUtf8) {
  EXPECT_EQ(json_of("a\xFF"
                    "b"),
            "\"a\xEF\xBF\xBD"
            "b\"");
}

TEST(JsonText, EveryByteStringParses) {
  EXPECT_TRUE(rc::check("any bytes give a JSON string", [](const std::string& bytes) {
    const nlohmann::json parsed = nlohmann::json::parse(json_of(bytes));
    RC_ASSERT(parsed.is_string());
  }));
}

TEST(JsonText, PutsCommasAndColons) {
  std::string out;
  JsonText json(out);
  json.begin_object().key("a").number(-1).key("b").begin_array().number(1).boolean(true).null();
  json.begin_object().end_object().end_array().key("c").string("x").end_object();
  EXPECT_EQ(out, R"({"a": -1, "b": [1, true, null, {}], "c": "x"})");
}

TEST(JsonText, BreaksLines) {
  std::string out;
  JsonText json(out);
  json.begin_array().line(2).number(1).line(2).number(2).line(0).end_array();
  EXPECT_EQ(out, "[\n  1,\n  2\n]");
}

TEST(JsonText, WritesBillionths) {
  const auto text = [](std::int64_t nano) {
    std::string out;
    JsonText(out).billionths(nano);
    return out;
  };
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(12'400'000'000), "12.4");
  EXPECT_EQ(text(1), "0.000000001");
  EXPECT_EQ(text(-1'500'000'000), "-1.5");
}

}  // namespace
}  // namespace dlaunch
