// NCCL takes one rank per GPU: which ranks can form a communicator, and the errors otherwise.
#include "measure/collectives/own_gpus.h"

#include <gtest/gtest.h>

namespace dlaunch::collectives {
namespace {

TEST(OwnGpus, OneRankPerGpu) {
  EXPECT_TRUE(each_has_its_own({"a 0000:3b:00.0"}).ok());
  EXPECT_TRUE(each_has_its_own({"a 0000:3b:00.0", "a 0000:5e:00.0", "b 0000:3b:00.0"}).ok())
      << "the same address on another machine is another GPU";
}

TEST(OwnGpus, NamesTwoRanksThatWouldShareAGpu) {
  const Status status =
      each_has_its_own({"a 0000:3b:00.0", "b 0000:3b:00.0", "b 0000:5e:00.0", "b 0000:3b:00.0"});
  EXPECT_EQ(status.code(), Code::unavailable) << "so that create() falls back to MPI";
  EXPECT_EQ(status.what(),
            "nccl: ranks 1 and 3 would share a GPU, but NCCL takes only one rank per GPU");
}

TEST(OwnGpus, NamesARankWithoutAGpu) {
  const Status status =
      each_has_its_own({"a 0000:3b:00.0", std::string(kNoGpu), std::string(kNoGpu)});
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_EQ(status.what(), "nccl: rank 1 has no GPU or no NCCL");
}

}  // namespace
}  // namespace dlaunch::collectives
