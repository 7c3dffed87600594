#include "measure/figures/record.h"

#include <limits>

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Record, RoundTrip) {
  Record record("size");
  record.set("bytes", 1099511627776.0).set("time", 0.1).set("host", std::string("a \"b\"\n"));
  record.set("times", std::vector<double>{1.5, 2, 1e-7});
  record.set("hosts", std::vector<std::string>{"n1", "n2"});
  const auto read = read_record(to_json(record));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, record);
  EXPECT_EQ(read->kind(), "size");
  EXPECT_EQ(read->number("bytes"), 1099511627776.0);
  EXPECT_EQ(read->text("host"), "a \"b\"\n");
  EXPECT_THAT(read->numbers("times"), ElementsAre(1.5, 2, 1e-7));
  EXPECT_THAT(read->texts("hosts"), ElementsAre("n1", "n2"));
}

TEST(Record, IsOneLine) {
  Record record("x");
  record.set("text", std::string("two\nlines"));
  EXPECT_THAT(to_json(record), testing::Not(HasSubstr("\n")));
}

TEST(Record, MissingValuesAreEmpty) {
  const Record record("x");
  EXPECT_FALSE(record.has("a"));
  EXPECT_EQ(record.number("a"), 0);
  EXPECT_EQ(record.text("a"), "");
  EXPECT_THAT(record.numbers("a"), IsEmpty());
  EXPECT_THAT(record.texts("a"), IsEmpty());
}

TEST(Record, ValuesOfAnotherTypeAreEmpty) {
  Record record("x");
  record.set("a", 1.0);
  EXPECT_EQ(record.text("a"), "");
}

TEST(Record, NumbersThatAreNotFiniteAreMissing) {
  Record record("x");
  record.set("a", std::numeric_limits<double>::infinity());
  EXPECT_EQ(to_json(record), R"({"record":"x","a":null})");
  const auto read = read_record(to_json(record));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->has("a"));
}

TEST(Record, KeepsAnEmptyList) {
  Record record("x");
  record.set("a", std::vector<double>{});
  const auto read = read_record(to_json(record));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->has("a"));
}

TEST(Record, RefusesOtherLines) {
  for (const char* text :
       {"", "hello", "[]", "{}", R"({"record":1})", R"({"record":"x","a":{}})",
        R"({"record":"x","a":[1,"b"]})", R"({"record":"x","a":true})", R"({"record":"x")"}) {
    const auto read = read_record(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr("not a record"));
  }
}

}  // namespace
}  // namespace dlaunch::measure
