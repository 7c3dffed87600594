#include "report/frame_table.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "stack_builder.h"

namespace dlaunch {
namespace {

struct Case {
  const char* file;
  const char* waits;
};

class FrameTable : public testing::TestWithParam<Case> {};

TEST_P(FrameTable, KnowsWhatARealStackWaitsFor) {
  const ThreadStack thread = recorded_main_thread(GetParam().file);
  EXPECT_EQ(waits_for(thread.frames), GetParam().waits);
}

constexpr const char* kOthers = " of torch.distributed, for the other ranks";
const std::string kAllReduce = std::string("all_reduce") + kOthers;
const std::string kAllGather = std::string("all_gather") + kOthers;
const std::string kBroadcast = std::string("broadcast") + kOthers;
const std::string kBarrier = std::string("barrier") + kOthers;
constexpr const char* kInit = "init_process_group, for ranks that have not come";

const Case kCases[] = {
    {"torch-1.13-all_reduce.json", kAllReduce.c_str()},
    {"torch-2.15-all_reduce.json", kAllReduce.c_str()},
    {"torch-1.13-all_gather.json", kAllGather.c_str()},
    {"torch-1.13-broadcast.json", kBroadcast.c_str()},
    {"torch-1.13-barrier.json", kBarrier.c_str()},
    {"torch-2.15-barrier.json", kBarrier.c_str()},
    {"torch-1.13-recv.json", "recv of torch.distributed, for another rank"},
    {"torch-1.13-init.json", kInit},
    {"torch-1.13-loader.json", "its data loader"},
    {"torch-2.15-loader.json", "its data loader"},
};
INSTANTIATE_TEST_SUITE_P(Torch, FrameTable, testing::ValuesIn(kCases));

TEST(FrameTable, EveryRowHasARealStack) {
  std::set<std::string_view> tested;
  for (const Case& one : kCases) tested.insert(one.waits);
  for (const KnownFrame& row : known_frames())
    EXPECT_TRUE(tested.contains(row.waits)) << row.function;
}

TEST(FrameTable, AFunctionOfTheUserWithTheSameNameIsNotKnown) {
  EXPECT_EQ(waits_for({python("all_reduce", "/home/me/job/train.py", 7)}), "");
  EXPECT_EQ(waits_for({}), "");
}

TEST(FrameTable, TheUsersOwnFrameIsTheInnermostOutsideOfPackages) {
  const ThreadStack thread = recorded_main_thread("torch-1.13-all_reduce.json");
  const StackFrame* const frame = user_frame(thread.frames);
  ASSERT_NE(frame, nullptr);
  EXPECT_EQ(frame->function, "step");
  EXPECT_EQ(frame->file, "/home/me/job/train.py");
  EXPECT_EQ(user_frame({python("wait", "/usr/lib/python3.11/threading.py", 1)}), nullptr);
}

}  // namespace
}  // namespace dlaunch
