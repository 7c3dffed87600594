// NCCL takes one rank a GPU: who may be a communicator of it, and what is said where they may not.
#include "collectives/own_gpus.h"

#include <gtest/gtest.h>

namespace dlaunch::collectives {
namespace {

TEST(OwnGpus, OneRankAGpu) {
  EXPECT_TRUE(each_has_its_own({"a 0000:3b:00.0"}).ok());
  EXPECT_TRUE(each_has_its_own({"a 0000:3b:00.0", "a 0000:5e:00.0", "b 0000:3b:00.0"}).ok())
      << "the same address on another machine is another GPU";
}

TEST(OwnGpus, TwoRanksOfAMachineWouldShareOne) {
  const Status status =
      each_has_its_own({"a 0000:3b:00.0", "b 0000:3b:00.0", "b 0000:5e:00.0", "b 0000:3b:00.0"});
  EXPECT_EQ(status.code(), Code::unavailable) << "so that create() goes on to MPI";
  EXPECT_EQ(status.what(), "nccl: ranks 1 and 3 would share a GPU, and NCCL takes one rank a GPU");
}

TEST(OwnGpus, ARankWithoutOneIsNamed) {
  const Status status =
      each_has_its_own({"a 0000:3b:00.0", std::string(kNoGpu), std::string(kNoGpu)});
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_EQ(status.what(), "nccl: rank 1 has no GPU, or no NCCL");
}

}  // namespace
}  // namespace dlaunch::collectives
