#include "os/memory_program.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

// printf 'hello\nworld\n!' | xz --format=raw --x86 --lzma2=preset=9e,dict=4MiB
constexpr char kBytes[] = "\x01\x00\x0c\x68\x65\x6c\x6c\x6f\x0a\x77\x6f\x72\x6c\x64\x0a\x21\x00";
constexpr std::string_view kPacked(kBytes, sizeof kBytes - 1);

std::string content(const UniqueFd& file) {
  char bytes[16];
  return {bytes, static_cast<std::size_t>(::pread(file.get(), bytes, sizeof bytes, 0))};
}

TEST(MemoryProgram, EachOfThosePackedTogether) {
  const char* const wanted[] = {"hello\n", "world\n", "!"};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto file = memory_program("test", carried_program(kPacked, "6\n6\n1\n", i));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(content(*file), wanted[i]);
  }
}

TEST(MemoryProgram, OneThatIsNotThereTakesNoRoom) {
  EXPECT_EQ(carried_program(kPacked, "0\n13\n", 0).size, 0U);
  const auto file = memory_program("test", carried_program(kPacked, "0\n13\n", 1));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(content(*file), "hello\nworld\n!");
}

TEST(MemoryProgram, WhatIsDamagedIsNoProgram) {
  for (std::size_t size = 0; size + 5 < kPacked.size(); ++size) {
    const auto file = memory_program("test", {kPacked.substr(0, size), 0, 13});
    ASSERT_FALSE(file) << size;
    EXPECT_NE(file.error().message.find("test cannot run"), std::string::npos);
  }
}

}  // namespace
}  // namespace dlaunch
