#include "node/pmi/key_space.h"

#include <gtest/gtest.h>

namespace dlaunch::pmi {
namespace {

Job job() {
  return {"dlaunch-1", 4, "(vector,(0,2,2))", 100'000};
}

TEST(KeySpace, WhatIsPutHereIsKnownEverywhereAfterABarrier) {
  KeySpace here(job());
  KeySpace there(job());
  EXPECT_EQ(here.put("card-0", "a b\\ c=d"), nullptr);
  EXPECT_EQ(here.put("empty", ""), nullptr);
  EXPECT_EQ(here.get("card-0"), "a b\\ c=d");
  EXPECT_EQ(there.get("card-0"), std::nullopt);
  const std::string puts = here.take_puts();
  EXPECT_TRUE(there.add_puts(puts));
  EXPECT_TRUE(here.add_puts(puts)) << "it gets its own back";
  EXPECT_EQ(there.get("card-0"), "a b\\ c=d");
  EXPECT_EQ(there.get("empty"), "");
  EXPECT_EQ(here.take_puts(), "") << "each is sent once";
}

TEST(KeySpace, ALaterValueReplacesTheEarlier) {
  KeySpace space(job());
  EXPECT_EQ(space.put("key", "one"), nullptr);
  EXPECT_EQ(space.put("key", "another"), nullptr);
  EXPECT_EQ(space.get("key"), "another");
}

TEST(KeySpace, WhatTheJobSays) {
  const KeySpace space(job());
  EXPECT_EQ(space.get("PMI_process_mapping"), "(vector,(0,2,2))");
  EXPECT_EQ(space.get("universeSize"), "4");
  Job without = job();
  without.mapping.clear();
  EXPECT_EQ(KeySpace(without).get("PMI_process_mapping"), std::nullopt);
}

TEST(KeySpace, WhatIsRefused) {
  KeySpace space(job());
  EXPECT_STREQ(space.put("", "x"), "no_key");
  EXPECT_STREQ(space.put("PMI_process_mapping", "(vector,(0,1,4))"), "reserved_key");
  EXPECT_STREQ(space.put(std::string(kMostKey, 'k'), "x"), "key_too_long");
  EXPECT_STREQ(space.put("k", std::string(kMostValue, 'x')), "value_too_long");
  EXPECT_EQ(space.put(std::string(kMostKey - 1, 'k'), std::string(kMostValue - 1, 'x')), nullptr);
}

TEST(KeySpace, BytesAreBounded) {
  KeySpace space(job());
  const std::string value(900, 'x');
  const char* refused = nullptr;
  int puts = 0;
  for (; refused == nullptr; ++puts) refused = space.put("key" + std::to_string(puts), value);
  EXPECT_STREQ(refused, "too_much_before_barrier");
  EXPECT_LE(space.take_puts().size(), 100'000U);
  EXPECT_EQ(space.put("again", value), nullptr) << "after the barrier";
  for (refused = nullptr; refused == nullptr; ++puts) {
    refused = space.put("key" + std::to_string(puts), value);
    (void)space.take_puts();
    ASSERT_LT(puts, 100'000) << "the agent's memory has an end";
  }
  EXPECT_STREQ(refused, "key_space_full");
}

TEST(KeySpace, WhatIsNoListOfPuts) {
  for (const std::string& bytes :
       {std::string("key value\n"), std::string("key\0value", 9), std::string("\0value\n", 7)}) {
    KeySpace space(job());
    EXPECT_FALSE(space.add_puts(bytes)) << bytes;
  }
  KeySpace space(job());
  EXPECT_FALSE(
      space.add_puts(std::string("a\0"
                                 "1\nrubbish",
                                 11)));
  EXPECT_EQ(space.get("a"), "1");
}

}  // namespace
}  // namespace dlaunch::pmi
