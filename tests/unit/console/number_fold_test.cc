#include "launch/console/number_fold.h"

#include <gtest/gtest.h>

namespace dlaunch {
namespace {

std::string folded(const std::vector<std::string>& lines) {
  NumberFold fold;
  for (const std::string& line : lines) {
    if (!fold.fits(lines.front(), line)) return "not folded: " + line;
    fold.join(lines.front(), line);
    EXPECT_EQ(hash_without_numbers(line), hash_without_numbers(lines.front()));
  }
  return fold.values() == 0 ? lines.front() : fold.text(lines.front());
}

TEST(NumberFold, WholeNumbersAreRanges) {
  EXPECT_EQ(folded({"shard 2", "shard 0", "shard 1"}), "shard <0-2>");
  EXPECT_EQ(folded({"rank 9/16 ready", "rank 10/16 ready", "rank 12/16 ready"}),
            "rank <9-10,12>/16 ready");
  EXPECT_EQ(folded({"a 1", "a 1", "a 1"}), "a 1");
  EXPECT_EQ(folded({"a 1", "a 3", "a 1", "a 3"}), "a <1,3>");
}

TEST(NumberFold, ManyScatteredValuesTakeLittleRoom) {
  std::vector<std::string> lines;
  for (int i = 0; i < 100; ++i) lines.push_back("port " + std::to_string(4 * i));
  EXPECT_EQ(folded(lines), "port <0,4,8,12,16,20,24,28,32 and 91 more>");
}

TEST(NumberFold, OthersAreLeastAndGreatest) {
  EXPECT_EQ(folded({"loss 0.5", "loss 0.12", "loss 1.0"}), "loss <0.12-1.0>");
  EXPECT_EQ(folded({"12:00:07.5 go", "12:00:08.25 go"}), "12:00:<07.5-08.25> go");
  EXPECT_EQ(folded({"shard 07", "shard 08"}), "shard <07-08>");
  EXPECT_EQ(folded({"id 99999999999", "id 99999999998"}), "id <99999999998-99999999999>");
}

TEST(NumberFold, OnlyOneNumberMayDiffer) {
  EXPECT_EQ(folded({"step 1 loss 2", "step 2 loss 3"}), "not folded: step 2 loss 3");
  EXPECT_EQ(folded({"step 1 loss 2", "step 2 loss 2", "step 1 loss 3"}),
            "not folded: step 1 loss 3");
  EXPECT_EQ(folded({"a 1", "b 1"}), "not folded: b 1");
  EXPECT_EQ(folded({"a 1", "a 1b"}), "not folded: a 1b");
  EXPECT_EQ(folded({"a 1", "a"}), "not folded: a");
}

TEST(NumberFold, AnAddressIsNoNumber) {
  EXPECT_EQ(folded({"on 10.0.0.1", "on 10.0.0.2"}), "not folded: on 10.0.0.2");
  EXPECT_NE(hash_without_numbers("on 10.0.0.1"), hash_without_numbers("on 10.0.0.2"));
  EXPECT_EQ(folded({"10.0.0.1 is 1", "10.0.0.1 is 2"}), "10.0.0.1 is <1-2>");
  EXPECT_EQ(folded({"done 1.", "done 2."}), "done <1-2>.");
}

}  // namespace
}  // namespace dlaunch
