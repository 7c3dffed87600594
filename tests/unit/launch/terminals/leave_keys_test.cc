#include "launch/terminals/leave_keys.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using Typed = LeaveKeys::Typed;

TEST(LeaveKeys, TildeAndDotAtTheBeginningOfALineLeave) {
  EXPECT_EQ(LeaveKeys().take("~."), (Typed{"", true}));
  EXPECT_EQ(LeaveKeys().take("ls\r~.more"), (Typed{"ls\r", true}));
  EXPECT_EQ(LeaveKeys().take("ls\n~."), (Typed{"ls\n", true}));
}

TEST(LeaveKeys, ElsewhereTheyAreForTheProgram) {
  for (const char* text : {"a~.", "cd ~/x\r", "~x\r", "~/.bashrc\r", ".~.", "\r.~"})
    EXPECT_EQ(LeaveKeys().take(text), (Typed{text, false})) << text;
}

TEST(LeaveKeys, TwoTildesAreOne) {
  EXPECT_EQ(LeaveKeys().take("~~.\r"), (Typed{"~.\r", false}));
  EXPECT_EQ(LeaveKeys().take("~~~."), (Typed{"~~.", false}));
}

TEST(LeaveKeys, KeysMayComeOneByOne) {
  LeaveKeys keys;
  EXPECT_EQ(keys.take("x\r"), (Typed{"x\r", false}));
  EXPECT_EQ(keys.take("~"), (Typed{"", false})) << "held until it is clear what it means";
  EXPECT_EQ(keys.take("y"), (Typed{"~y", false}));
  EXPECT_EQ(keys.take("\r"), (Typed{"\r", false}));
  EXPECT_EQ(keys.take("~"), (Typed{"", false}));
  EXPECT_EQ(keys.take("."), (Typed{"", true}));
}

}  // namespace
}  // namespace dlaunch
