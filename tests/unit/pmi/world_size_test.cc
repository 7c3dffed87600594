// The size of a program's world. The libraries' requests were recorded from MPICH 4.0.2, 5.0.2 and
// Intel MPI 2021.18 with PMI_SIZE correct, 1, removed, and too large.
#include "node/pmi/world_size.h"

#include <string>

#include <gtest/gtest.h>

namespace dlaunch::pmi {
namespace {

using std::string_literals::operator""s;

TEST(World, WhatOnlyAWorldOfSeveralAsks) {
  for (const char* line :
       {"cmd=get kvsname=k key=PMI_process_mapping", "cmd=get kvsname=k key=-bcast-1-0",
        "cmd=get kvsname=k key=P1-businesscard", "cmd=get key=-allgather-shm-1-1 "})
    EXPECT_TRUE(asks_of_others(line)) << line;
  for (const char* line :
       {"cmd=get kvsname=k key=PMI_hwloc_xmlfile", "cmd=get kvsname=k key=universeSize",
        "cmd=get kvsname=k key=PMI_mpi_memory_alloc_kinds", "cmd=get kvsname=k", "cmd=barrier_in",
        // MPICH 3 puts its business card in any world.
        "cmd=put kvsname=k key=P0-businesscard value=x", "cmd=get_my_kvsname",
        "cmd=put key=a value=cmd=get\\ key=x", "", "key=PMI_process_mapping"})
    EXPECT_FALSE(asks_of_others(line)) << line;
}

TEST(World, TheSizeThatAProgramIsStartedWith) {
  EXPECT_EQ(declared_size("A=b\0PMI_SIZE=12\0PMI_RANK=3\0"s), 12);
  EXPECT_EQ(declared_size("PMI_SIZE=2"), 2);
  EXPECT_EQ(declared_size("A=PMI_SIZE=2\0MY_PMI_SIZE=3\0"s), 1) << "not set";
  EXPECT_EQ(declared_size(""), std::nullopt);
  for (const std::string& text :
       {"PMI_SIZE=\0"s, "PMI_SIZE=x\0"s, "PMI_SIZE=-1\0"s, "PMI_SIZE=2 "s})
    EXPECT_EQ(declared_size(text), std::nullopt) << text;
}

TEST(World, WhatAProgramAsksCountsForMoreThanHowItWasStarted) {
  constexpr std::optional<std::uint32_t> kJobs;  // its world is the job's
  EXPECT_EQ(other_world(true, 4, 4), kJobs);
  EXPECT_EQ(other_world(true, std::nullopt, 4), kJobs);
  EXPECT_EQ(other_world(true, 1, 4), kJobs) << "it has set PMI_SIZE itself";
  EXPECT_EQ(other_world(true, 3, 4), 3);
  EXPECT_EQ(other_world(true, 8, 4), 8);
  EXPECT_EQ(other_world(false, 4, 4), 1) << "it has removed PMI_SIZE itself";
  EXPECT_EQ(other_world(false, std::nullopt, 4), 1);
  EXPECT_EQ(other_world(false, 1, 4), 1);
  EXPECT_EQ(other_world(false, 1, 1), kJobs);
  EXPECT_EQ(other_world(false, std::nullopt, 1), kJobs);
  EXPECT_EQ(other_world(true, 2, 1), 2);
}

}  // namespace
}  // namespace dlaunch::pmi
