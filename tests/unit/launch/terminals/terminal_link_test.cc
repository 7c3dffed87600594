#include "launch/terminals/terminal_link.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

TEST(TerminalRequest, ComesBackAsItWas) {
  TerminalRequest request{"abc123", {}};
  request.open.rank = Rank(3);
  request.open.argv = {"gdb", "-p", "{pid}", "\xff"};
  request.open.env = {{"TERM", "xterm"}};
  request.open.is_terminal = false;
  const auto back = decode_terminal_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->build_id, request.build_id);
  EXPECT_EQ(back->open, request.open);
}

TEST(TerminalRequest, NonsenseIsNone) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("id"), std::string("id\n\xa1"),
        encode(TerminalRequest{"id", {}}) + "more"})
    EXPECT_FALSE(decode_terminal_request(text)) << text;
}

}  // namespace
}  // namespace dlaunch
