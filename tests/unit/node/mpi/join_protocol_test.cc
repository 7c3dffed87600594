#include "node/mpi/join_protocol.h"

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

TEST(JoinProtocol, AJoiningSurvives) {
  EXPECT_EQ(decode_joining(encode(sample())), sample());
  EXPECT_EQ(decode_joining(encode(Joining{})), Joining{});
}

TEST(JoinProtocol, WhatIsTruncatedOrLongerIsRefused) {
  const std::string whole = encode(sample());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode_joining(whole.substr(0, size))) << size;
  EXPECT_FALSE(decode_joining(whole + 'x'));
}

TEST(JoinProtocol, WhatIsOutOfRangeIsRefused) {
  const auto changed = [](auto member, auto value) {
    Joining joining = sample();
    joining.*member = value;
    return encode(joining);
  };
  EXPECT_TRUE(decode_joining(changed(&Joining::world, 1048576U)));
  EXPECT_FALSE(decode_joining(changed(&Joining::world, 1048577U)));
  EXPECT_FALSE(decode_joining(changed(&Joining::rank, Rank(1048576))));
  EXPECT_FALSE(decode_joining(changed(&Joining::parent, 5000000U)));
  EXPECT_FALSE(decode_joining(changed(&Joining::cpus, std::vector{0, -1})));
  // Only variables of a launcher of MPI programs may pass.
  EXPECT_FALSE(decode_joining(changed(&Joining::variables, Environment{{"LD_PRELOAD", "/x"}})));
}

TEST(JoinProtocol, AnotherNumberOfRanksThanTheJobHas) {
  Joining joining = sample();
  EXPECT_EQ(other_world(joining, 8), "");
  EXPECT_THAT(other_world(joining, 4),
              testing::StartsWith("mpirun started 8 ranks, but the job has 4: "));
  joining.world = 0;
  EXPECT_EQ(other_world(joining, 4), "") << "unknown";
}

TEST(JoinProtocol, AnswersSurvive) {
  for (const JoinAnswer& answer :
       {JoinAnswer{{false, 0}, ""}, JoinAnswer{{false, 255}, ""}, JoinAnswer{{true, 11}, ""},
        JoinAnswer{{}, "it is none of this node"}})
    EXPECT_EQ(decode_join_answer(encode(answer)), answer);
  for (const JoinAnswer& answer :
       {JoinAnswer{{false, 256}, ""}, JoinAnswer{{true, 0}, ""}, JoinAnswer{{true, 65}, ""}})
    EXPECT_FALSE(decode_join_answer(encode(answer)));
  EXPECT_FALSE(decode_join_answer(""));
}

TEST(JoinProtocol, RankAndWorldComeFromTheLaunchersVariables) {
  const auto joining = joining_from(
      {{"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "2"}, {"HOME", "/root"}, {"RANK", "9"}});
  ASSERT_TRUE(joining);
  EXPECT_EQ(joining->rank, Rank(2));
  EXPECT_EQ(joining->variables, (Environment{{"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "2"}}));
  EXPECT_EQ(joining->world, 0) << "unknown";
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
