#include "foreign/join_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

Joining sample() {
  return {
      Rank(3), 8,
      4711,    {0, 2, 64},
      true,    {{"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_SERVER_URI2", "a=b;c\n"}, {"PMI_FD", ""}}};
}

TEST(JoinWords, AJoiningComesOutAsItWentIn) {
  EXPECT_EQ(decode_joining(encode(sample())), sample());
  EXPECT_EQ(decode_joining(encode(Joining{})), Joining{});
}

TEST(JoinWords, NoPartOfOneIsOne) {
  const std::string whole = encode(sample());
  const std::size_t head = encode(Joining{}).size();
  for (std::size_t size = 0; size < head - 1; ++size)
    EXPECT_FALSE(decode_joining(whole.substr(0, size))) << size;
  EXPECT_FALSE(decode_joining(whole.substr(0, whole.size() - 1)));
}

TEST(JoinWords, NonsenseIsRefused) {
  using namespace std::string_literals;
  for (const std::string& text : {""s, "hello"s,
                                  "dlaunch-join-9\0"
                                  "0\0"
                                  "4\0"
                                  "1\0"
                                  "\0"
                                  "0\0"s,
                                  "dlaunch-join-2\0"
                                  "-1\0"
                                  "4\0"
                                  "1\0"
                                  "\0"
                                  "0\0"s,
                                  "dlaunch-join-2\0"
                                  "0\0"
                                  "1048577\0"
                                  "1\0"
                                  "\0"
                                  "0\0"s,
                                  "dlaunch-join-2\0"
                                  "1048576\0"
                                  "4\0"
                                  "1\0"
                                  "\0"
                                  "0\0"s,
                                  "dlaunch-join-2\0"
                                  "0\0"
                                  "4\0"
                                  "1\0"
                                  "0,x\0"
                                  "0\0"s,
                                  "dlaunch-join-2\0"
                                  "0\0"
                                  "4\0"
                                  "1\0"
                                  "\0"
                                  "2\0"s,
                                  "dlaunch-join-2\0"
                                  "0\0"
                                  "4\0"
                                  "1\0"
                                  "\0"
                                  "0\0"
                                  "OMPI_X\0"s,
                                  // Only what a launcher of MPI programs has set may pass.
                                  "dlaunch-join-2\0"
                                  "0\0"
                                  "4\0"
                                  "1\0"
                                  "\0"
                                  "0\0"
                                  "LD_PRELOAD=/x\0"s}) {
    EXPECT_FALSE(decode_joining(text)) << text;
  }
}

TEST(JoinWords, AnotherNumberOfRanksThanTheJobHas) {
  Joining joining = sample();
  EXPECT_EQ(other_world(joining, 8), "");
  EXPECT_THAT(other_world(joining, 4),
              testing::StartsWith("mpirun has started 8 ranks, and the job has 4: "));
  joining.world = 0;
  EXPECT_EQ(other_world(joining, 4), "") << "it does not say";
}

TEST(JoinWords, AnswersComeOutAsTheyWentIn) {
  for (const JoinAnswer& answer :
       {JoinAnswer{{false, 0}, ""}, JoinAnswer{{false, 255}, ""}, JoinAnswer{{true, 11}, ""},
        JoinAnswer{{}, "it is none of this node"}})
    EXPECT_EQ(decode_join_answer(encode(answer)), answer);
  for (const char* text :
       {"", "code", "code ", "code 256", "code -1", "signal 0", "signal 65", "refused ", "sleep 5"})
    EXPECT_FALSE(decode_join_answer(text)) << text;
}

TEST(JoinWords, ThePlaceIsTheLaunchers) {
  const auto joining = joining_from(
      {{"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "2"}, {"HOME", "/root"}, {"RANK", "9"}});
  ASSERT_TRUE(joining);
  EXPECT_EQ(joining->rank, Rank(2));
  EXPECT_EQ(joining->variables, (Environment{{"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "2"}}));
  EXPECT_EQ(joining->world, 0) << "it does not say";
  EXPECT_EQ(joining_from({{"PMI_RANK", "1"}})->rank, Rank(1));
  EXPECT_EQ(joining_from({{"PMI_RANK", "1"}, {"PMI_SIZE", "6"}})->world, 6);
  EXPECT_EQ(joining_from({{"PMIX_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "5"}})->world, 5);
  EXPECT_EQ(joining_from({{"PMI_RANK", "1"}, {"PMI_SIZE", "many"}})->world, 0);
  const auto none = joining_from({{"RANK", "1"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().exit_code, exit_code::kPreflight);
}

}  // namespace
}  // namespace dlaunch
