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

const Case kCases[] = {
    {"torch-1.13-all_reduce.json", "all_reduce of torch.distributed, for the other ranks"},
    {"torch-1.13-all_to_all_single.json",
     "all_to_all_single of torch.distributed, for the other ranks"},
    {"torch-1.13-reduce.json", "reduce of torch.distributed, for the other ranks"},
    {"torch-1.13-gather.json", "gather of torch.distributed, for the other ranks"},
    {"torch-1.13-scatter.json", "scatter of torch.distributed, for the other ranks"},
    {"torch-1.13-all_gather.json", "all_gather of torch.distributed, for the other ranks"},
    {"torch-1.13-broadcast_object_list.json",
     "broadcast_object_list of torch.distributed, for the other ranks"},
    {"torch-1.13-all_gather_object.json",
     "all_gather_object of torch.distributed, for the other ranks"},
    {"torch-1.13-barrier.json", "barrier of torch.distributed, for the other ranks"},
    {"torch-1.13-monitored_barrier.json",
     "monitored_barrier of torch.distributed, for the other ranks"},
    {"torch-1.13-new_group.json", "new_group of torch.distributed, for the other ranks"},
    {"torch-1.13-send.json", "send of torch.distributed, for another rank"},
    {"torch-1.13-recv.json", "recv of torch.distributed, for another rank"},
    {"torch-1.13-broadcast.json", "broadcast of torch.distributed, for the other ranks"},
    {"torch-2.15-all_reduce.json", "all_reduce of torch.distributed, for the other ranks"},
    {"torch-2.15-barrier.json", "barrier of torch.distributed, for the other ranks"},
    {"torch-2.15-reduce_scatter.json", "reduce_scatter of torch.distributed, for the other ranks"},
    {"torch-2.15-all_to_all.json", "all_to_all of torch.distributed, for the other ranks"},
    {"torch-1.13-init.json",
     "init_process_group of torch.distributed, for ranks that have not arrived"},
    {"torch-1.13-ddp_new.json",
     "DistributedDataParallel.__init__ of torch.distributed, for the other ranks"},
    {"torch-1.13-ddp_forward.json",
     "DistributedDataParallel.forward of torch.distributed, for the other ranks"},
    {"torch-1.13-ddp_backward.json",
     "Tensor.backward of torch.autograd, for its device or the other ranks"},
    {"torch-1.13-loader.json", "its data loader"},
    {"torch-2.15-loader.json", "its data loader"},
};
INSTANTIATE_TEST_SUITE_P(Torch, FrameTable, testing::ValuesIn(kCases));

TEST(FrameTable, EveryRowHasARealStack) {
  std::set<const KnownFrame*> tested;
  for (const Case& one : kCases) {
    if (const auto known = known_wait(recorded_main_thread(one.file).frames))
      tested.insert(known->row);
  }
  for (const auto& [name, frames] : recorded_mpi()) {
    if (const auto known = known_wait(frames)) tested.insert(known->row);
  }
  for (const RecordedWait& one : recorded_waits()) {
    if (const auto known = known_wait(one.frames)) tested.insert(known->row);
  }
  for (const KnownFrame& row : known_frames()) EXPECT_TRUE(tested.contains(&row)) << row.function;
}

TEST(FrameTable, KnowsTheWaitsOfAllFrameworks) {
  for (const RecordedWait& one : recorded_waits())
    EXPECT_EQ(waits_for(one.frames), one.waits) << one.name;
}

TEST(FrameTable, KnowsTheCallsOfMpiInRealStacksOfBothLibraries) {
  for (const auto& [name, frames] : recorded_mpi()) {
    const auto known = known_wait(frames);
    ASSERT_TRUE(known) << name;
    EXPECT_EQ(known->operation, name.substr(name.rfind(' ') + 1)) << name;
    const StackFrame* const frame = user_frame(frames, known->depth);
    ASSERT_NE(frame, nullptr) << name;
    EXPECT_EQ(frame->file, "/home/me/job/ring.c") << name;
    EXPECT_GT(frame->line, 0U) << name;
  }
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
