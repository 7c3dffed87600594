#include "wire/cbor.h"

#include <limits>

#include <gtest/gtest.h>

namespace dlaunch::wire::cbor {
namespace {

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

template <class Write>
std::string written(Write write) {
  std::string out;
  Writer writer(out);
  write(writer);
  return out;
}

// RFC 8949 appendix A.
TEST(Cbor, WritesTheNumbersOfTheStandard) {
  const auto number = [](std::int64_t n) { return written([n](Writer& w) { w.number(n); }); };
  EXPECT_EQ(number(0), from_hex("00"));
  EXPECT_EQ(number(23), from_hex("17"));
  EXPECT_EQ(number(24), from_hex("1818"));
  EXPECT_EQ(number(100), from_hex("1864"));
  EXPECT_EQ(number(1000), from_hex("1903e8"));
  EXPECT_EQ(number(1000000), from_hex("1a000f4240"));
  EXPECT_EQ(number(1000000000000), from_hex("1b000000e8d4a51000"));
  EXPECT_EQ(number(-1), from_hex("20"));
  EXPECT_EQ(number(-10), from_hex("29"));
  EXPECT_EQ(number(-100), from_hex("3863"));
  EXPECT_EQ(number(-1000), from_hex("3903e7"));
  EXPECT_EQ(number(std::numeric_limits<std::int64_t>::min()), from_hex("3b7fffffffffffffff"));
  EXPECT_EQ(written([](Writer& w) { w.number(std::uint64_t{18446744073709551615ULL}); }),
            from_hex("1bffffffffffffffff"));
}

TEST(Cbor, WritesTheOtherItemsOfTheStandard) {
  EXPECT_EQ(written([](Writer& w) { w.boolean(false); }), from_hex("f4"));
  EXPECT_EQ(written([](Writer& w) { w.boolean(true); }), from_hex("f5"));
  EXPECT_EQ(written([](Writer& w) { w.null(); }), from_hex("f6"));
  EXPECT_EQ(written([](Writer& w) { w.bytes(from_hex("01020304")); }), from_hex("4401020304"));
  EXPECT_EQ(written([](Writer& w) { w.text("IETF"); }), from_hex("6449455446"));
  EXPECT_EQ(written([](Writer& w) { w.bytes("A", "=", "b"); }), from_hex("43413d62"));
  EXPECT_EQ(written([](Writer& w) { w.head(Major::map, 0); }), from_hex("a0"));
}

TEST(Cbor, AcceptsWellFormedItems) {
  // Appendix A; the last ones are numbers that are not in their shortest form, which is
  // well-formed.
  for (const char* hex : {"00",
                          "1bffffffffffffffff",
                          "3bffffffffffffffff",
                          "f97e00",
                          "fa47c35000",
                          "fb3ff199999999999a",
                          "f4",
                          "f7",
                          "f0",
                          "f8ff",
                          "40",
                          "6161",
                          "80",
                          "83010203",
                          "8301820203820405",
                          "a0",
                          "a201020304",
                          "a26161016162820203",
                          "1800",
                          "1b0000000000000001",
                          "5801ff"}) {
    EXPECT_TRUE(check(from_hex(hex), 12).has_value()) << hex;
  }
}

TEST(Cbor, RefusesWhatIsCutShortReservedOrForbidden) {
  for (const char* hex : {
           "",  // nothing
           "18",
           "19ff",
           "1a00ff",
           "1b00",  // number cut short
           "41",
           "6261",
           "5affffffff",
           "5bffffffffffffffff00",  // string cut short
           "81",
           "820000"
           "00",  // list cut short, bytes after the end
           "a1",
           "a100",
           "a2000000",  // map cut short
           "9affffffff",
           "9bffffffffffffffff",
           "bbffffffffffffffff",
           "bb8000000000000000",
           "1c",
           "1d",
           "1e",
           "3c",
           "5d",
           "7e",
           "9c",
           "bd",
           "fc",  // RFC 8949 appendix F: reserved
           "f800",
           "f81f",
           "f818",  // appendix F: simple value in two bytes
           "1f",
           "3f",
           "ff",
           "df",  // appendix F
           "5f4100ff",
           "7f6100ff",
           "9fff",
           "bfff",  // indefinite length: not in this protocol
           "c000",
           "d81800",
           "d9d9f700",  // tags: not in this protocol
       }) {
    const Status status = check(from_hex(hex), 12);
    EXPECT_FALSE(status.has_value()) << hex;
    if (!status) {
      EXPECT_EQ(status.error().exit_code, exit_code::kNodeLost);
    }
  }
}

TEST(Cbor, DepthIsLimitedWithoutRecursion) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '\x81') + '\0'; };
  EXPECT_TRUE(check(nested(3), 3).has_value());
  EXPECT_FALSE(check(nested(4), 3).has_value());
  EXPECT_FALSE(check(nested(16 << 20), 12).has_value());
  // Side by side is not deep.
  EXPECT_TRUE(check("\x83\x80\x80\x80", 2).has_value());
  EXPECT_FALSE(check("\x83\x80\x80\x80", 1).has_value());
}

TEST(Cbor, CursorStepsOverAnything) {
  const std::string bytes = from_hex(
                                "86"
                                "83018202039903e8") +
                            std::string(1000, '\0') +
                            from_hex(
                                "a26161016162820203"
                                "fb3ff199999999999a"
                                "4401020304"
                                "f6"
                                "3863");
  ASSERT_TRUE(check(bytes, 12).has_value());
  Cursor cursor(bytes);
  EXPECT_EQ(cursor.head().argument, 6U);
  for (int i = 0; i < 5; ++i) cursor.skip();
  const Head last = cursor.head();
  EXPECT_EQ(last.major, Major::negative_number);
  EXPECT_EQ(last.argument, 99U);  // appendix A: -100
  EXPECT_EQ(cursor.position(), bytes.size());
}

}  // namespace
}  // namespace dlaunch::wire::cbor
