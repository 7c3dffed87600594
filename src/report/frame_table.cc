#include "report/frame_table.h"

#include <algorithm>
#include <array>

namespace dlaunch {

namespace {

constexpr std::string_view kC10d = "distributed_c10d.py";

constexpr KnownFrame kKnown[] = {
    // torch/distributed/distributed_c10d.py: the same for gloo, NCCL and MPI
    {"all_reduce", kC10d, "all_reduce of torch.distributed, for the other ranks"},
    {"all_gather", kC10d, "all_gather of torch.distributed, for the other ranks"},
    {"broadcast", kC10d, "broadcast of torch.distributed, for the other ranks"},
    {"barrier", kC10d, "barrier of torch.distributed, for the other ranks"},
    {"recv", kC10d, "recv of torch.distributed, for another rank"},
    {"init_process_group", kC10d, "init_process_group, for ranks that have not come"},
    // torch/utils/data/dataloader.py: the main process waits for its workers
    {"_MultiProcessingDataLoaderIter._get_data", "dataloader.py", "its data loader"},
};

bool matches(const KnownFrame& known, const StackFrame& frame) {
  const bool same = frame.function == known.function;
  return same && (known.file.empty() || frame.file.find(known.file) != std::string::npos);
}

}  // namespace

std::span<const KnownFrame> known_frames() {
  return kKnown;
}

std::string_view waits_for(const std::vector<StackFrame>& frames) {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const auto* found =
        std::find_if(std::begin(kKnown), std::end(kKnown),
                     [&](const KnownFrame& known) { return matches(known, *frame); });
    if (found != std::end(kKnown)) return found->waits;
  }
  return "";
}

const StackFrame* user_frame(const std::vector<StackFrame>& frames) {
  static constexpr std::array<std::string_view, 4> kNotTheUsers{
      "/site-packages/", "/dist-packages/", "/lib/python", "<"};
  for (const StackFrame& frame : frames) {
    const bool is_other = std::any_of(
        kNotTheUsers.begin(), kNotTheUsers.end(),
        [&](std::string_view part) { return frame.file.find(part) != std::string::npos; });
    if (frame.kind == StackFrame::Kind::python && !is_other) return &frame;
  }
  return nullptr;
}

}  // namespace dlaunch
