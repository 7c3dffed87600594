#include "launch/session/node_notices.h"

#include <gmock/gmock.h>

namespace dlaunch {
namespace {

using testing::EndsWith;
using testing::Optional;

TEST(NodeNotices, AreHarmlessLinesOfABoundedLength) {
  NodeNotices notices;
  EXPECT_THAT(notices.take("its guardian was killed"),
              Optional(std::string("its guardian was killed")));
  EXPECT_THAT(notices.take("\x1b]0;title\a\x1b[2Jtext\x9b\x01\nmore"),
              Optional(std::string("text\xEF\xBF\xBD??more")));
  EXPECT_EQ(notices.take(std::string(1'000'000, 'x'))->size(), NodeNotices::kColumns);
}

TEST(NodeNotices, AreBoundedInNumber) {
  NodeNotices notices;
  for (std::size_t i = 1; i < NodeNotices::kMost; ++i)
    EXPECT_THAT(notices.take("x"), Optional(std::string("x")));
  EXPECT_THAT(notices.take("x"), Optional(EndsWith("shows no more notes from this node)")));
  EXPECT_EQ(notices.take("x"), std::nullopt);
}

}  // namespace
}  // namespace dlaunch
