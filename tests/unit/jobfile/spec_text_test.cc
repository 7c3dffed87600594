// Scalars: types, durations, sizes; and near names.
#include <gtest/gtest.h>

#include "jobfile/expectation.h"
#include "jobfile/suggestion.h"
#include "jobfile/scalar.h"

namespace dlaunch::jobfile {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// YAML 1.2.2, section 10.3.2, table of the core schema.
TEST(PlainScalar, HasTheTypeOfTheCoreSchema) {
  const std::pair<const char*, PlainType> cases[] = {
      {"", PlainType::null},        {"~", PlainType::null},         {"null", PlainType::null},
      {"true", PlainType::boolean}, {"False", PlainType::boolean},  {"yes", PlainType::text},
      {"no", PlainType::text},      {"on", PlainType::text},        {"off", PlainType::text},
      {"12", PlainType::integer},   {"-7", PlainType::integer},     {"+7", PlainType::integer},
      {"0o17", PlainType::integer}, {"0xfF", PlainType::integer},   {"017", PlainType::integer},
      {"1.5", PlainType::floating}, {"1.", PlainType::floating},    {".5", PlainType::floating},
      {"1e3", PlainType::floating}, {"-.inf", PlainType::floating}, {".nan", PlainType::floating},
      {".", PlainType::text},       {"1e", PlainType::text},        {"0o8", PlainType::text},
      {"0x", PlainType::text},      {"1_000", PlainType::text},     {"12:30:45", PlainType::text},
      {"-", PlainType::text},       {"+", PlainType::text},         {"1.2.3", PlainType::text},
      {"truE", PlainType::text},    {"e3", PlainType::text}};
  for (const auto& [text, type] : cases) EXPECT_EQ(type_of_plain(text), type) << text;
}

TEST(ParseInteger, ReadsThreeBasesAndStopsAt64Bits) {
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_integer("+5"), 5);
  EXPECT_EQ(parse_integer("0x7f"), 127);
  EXPECT_EQ(parse_integer("0o777"), 511);
  for (const char* bad :
       {"9223372036854775808", "0xffffffffffffffffff", "", "-", "1.0", "1a", "--1"}) {
    EXPECT_FALSE(parse_integer(bad)) << bad;
  }
}

TEST(ParseNumber, ReadsFractions) {
  EXPECT_EQ(parse_number("2.5"), 2.5);
  EXPECT_EQ(parse_number("+3"), 3.0);
  EXPECT_EQ(parse_number("1e3"), 1000.0);
  for (const char* bad : {".inf", ".nan", "1e999", "x", ""}) EXPECT_FALSE(parse_number(bad)) << bad;
}

TEST(ParseDuration, ReadsUnitsFromLargeToSmall) {
  EXPECT_EQ(parse_duration("30s"), seconds(30));
  EXPECT_EQ(parse_duration("5m"), minutes(5));
  EXPECT_EQ(parse_duration("1h30m"), minutes(90));
  EXPECT_EQ(parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(parse_duration("1d2h3m4s5ms"), hours(26) + minutes(3) + seconds(4) + milliseconds(5));
  EXPECT_EQ(parse_duration("0s"), seconds(0));
  for (const char* bad : {"", "30", "s", "1m1h", "1s1s", "1.5h", "-1s", "1 s", "1S", "1w", "1sx",
                          "36501d", "99999999999999999999s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

TEST(DurationText, IsReadBackAsTheSame) {
  EXPECT_EQ(duration_text(seconds(90)), "1m30s");
  EXPECT_EQ(duration_text(seconds(0)), "0s");
  EXPECT_EQ(duration_text(milliseconds(1500)), "1s500ms");
  for (const Duration d :
       {Duration(1), Duration(59'999), Duration(86'400'000), Duration(90'061'001)}) {
    EXPECT_EQ(parse_duration(duration_text(d)), d);
  }
}

// Powers of 1024, as docker run --shm-size counts.
TEST(ParseSize, ReadsBinaryUnits) {
  EXPECT_EQ(parse_size("16g"), 16LL << 30);
  EXPECT_EQ(parse_size("512m"), 512LL << 20);
  EXPECT_EQ(parse_size("1GiB"), 1LL << 30);
  EXPECT_EQ(parse_size("2kb"), 2048);
  EXPECT_EQ(parse_size("100b"), 100);
  for (const char* bad : {"", "16", "g", "1.5g", "-1g", "1x", "9999999999999t"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Nearest, FindsMisspellingsButNothingFar) {
  const std::vector<std::string_view> names{"processes", "processes_per_node", "shell", "stdin",
                                            "setup"};
  EXPECT_EQ(nearest("proceses", names), "processes");
  EXPECT_EQ(nearest("sehll", names), "shell");
  EXPECT_EQ(nearest("Processes-Per-Node", names), "processes_per_node");
  EXPECT_FALSE(nearest("workdir", names));
  EXPECT_FALSE(nearest("", names));
  EXPECT_FALSE(nearest(std::string(10'000, 's'), names));
}

}  // namespace
}  // namespace dlaunch::jobfile
