#include "report/frame_table.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace dlaunch {

namespace {

using enum Wait;
using Kind = StackFrame::Kind;

constexpr std::string_view kTorch = "torch.distributed";
constexpr std::string_view kC10d = "torch/distributed/distributed_c10d.py";
constexpr std::string_view kDdp = "torch/nn/parallel/distributed.py";

constexpr KnownFrame kKnown[] = {
    // PyTorch: the same for gloo, NCCL and MPI
    {Kind::python, "all_reduce*", kC10d, collective, kTorch},
    {Kind::python, "all_gather*", kC10d, collective, kTorch},
    {Kind::python, "all_to_all*", kC10d, collective, kTorch},
    {Kind::python, "reduce*", kC10d, collective, kTorch},  // and reduce_scatter
    {Kind::python, "gather*", kC10d, collective, kTorch},
    {Kind::python, "scatter*", kC10d, collective, kTorch},
    {Kind::python, "broadcast*", kC10d, collective, kTorch},
    {Kind::python, "barrier", kC10d, collective, kTorch},
    {Kind::python, "monitored_barrier", kC10d, collective, kTorch},
    {Kind::python, "new_group", kC10d, collective, kTorch},
    {Kind::python, "recv*", kC10d, peer, kTorch},
    {Kind::python, "send*", kC10d, peer, kTorch},
    {Kind::python, "init_process_group", kC10d, start, kTorch},
    {Kind::python, "__init__", kDdp, collective, kTorch},
    // Its own frame is innermost while it synchronises buffers.
    {Kind::python, "forward", kDdp, collective, kTorch},
    {Kind::python, "backward", "torch/_tensor.py", gradients, "torch.autograd"},
    // The main process waits for its workers.
    {Kind::python, "_get_data", "torch/utils/data/dataloader.py", loader, "torch.utils.data"},
    // MPI
    {Kind::native, "MPI_Barrier", "", collective, "MPI"},
    {Kind::native, "MPI_Bcast", "", collective, "MPI"},
    {Kind::native, "MPI_Reduce*", "", collective, "MPI"},
    {Kind::native, "MPI_Allreduce", "", collective, "MPI"},
    {Kind::native, "MPI_Gather*", "", collective, "MPI"},
    {Kind::native, "MPI_Allgather*", "", collective, "MPI"},
    {Kind::native, "MPI_Scatter*", "", collective, "MPI"},
    {Kind::native, "MPI_Alltoall*", "", collective, "MPI"},
    {Kind::native, "MPI_Scan", "", collective, "MPI"},
    {Kind::native, "MPI_Exscan", "", collective, "MPI"},
    {Kind::native, "MPI_Comm_*", "", collective, "MPI"},
    {Kind::native, "MPI_Send", "", peer, "MPI"},
    {Kind::native, "MPI_Ssend", "", peer, "MPI"},
    {Kind::native, "MPI_Recv", "", peer, "MPI"},
    {Kind::native, "MPI_Sendrecv", "", peer, "MPI"},
    {Kind::native, "MPI_Wait*", "", peer, "MPI"},
    {Kind::native, "MPI_Probe", "", peer, "MPI"},
    {Kind::native, "MPI_Init*", "", start, "MPI"},
    {Kind::native, "MPI_Finalize", "", collective, "MPI"},
    {Kind::native, "ompi_mpi_finalize", "", collective, "MPI"},  // a tail call
};

/// As the rows have it.
std::string_view name_of(const StackFrame& frame) {
  std::string_view name = frame.function;
  if (frame.kind == Kind::python) return name.substr(name.rfind('.') + 1);
  if (name.starts_with("PMPI_")) name.remove_prefix(1);
  return name.substr(0, name.find('('));
}

bool matches(const KnownFrame& known, const StackFrame& frame) {
  if (frame.kind != known.kind) return false;
  if (frame.file.find(known.file) == std::string::npos) return false;
  const std::string_view name = name_of(frame);
  return known.function.ends_with('*')
             ? name.starts_with(known.function.substr(0, known.function.size() - 1))
             : name == known.function;
}

bool has_any(const std::string& text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

/// Outside of what others have written.
bool is_the_users(const StackFrame& frame) {
  static constexpr std::array<std::string_view, 4> kPackages{"/site-packages/", "/dist-packages/",
                                                             "/lib/python", "<"};
  // Objects without lines of sources, and glibc's sources as Debian builds them.
  static constexpr std::array<std::string_view, 6> kObjects{".so",    "./sysdeps/", "./nptl/",
                                                            "./csu/", "./io/",      "./posix/"};
  switch (frame.kind) {
    case Kind::python:
      return !has_any(frame.file, kPackages);
    case Kind::native:
      return !frame.file.empty() && !has_any(frame.file, kObjects) && frame.function != "_start" &&
             !frame.function.empty();
    case Kind::kernel:
      return false;
  }
  return false;
}

/// Looks among the user's own frames of this kind, from `depth` outward. Null: there is none.
const StackFrame* innermost_of(Kind kind, const std::vector<StackFrame>& frames,
                               std::size_t depth) {
  for (; depth < frames.size(); ++depth) {
    if (frames[depth].kind == kind && is_the_users(frames[depth])) return &frames[depth];
  }
  return nullptr;
}

}  // namespace

std::span<const KnownFrame> known_frames() {
  return kKnown;
}

std::optional<KnownWait> known_wait(const std::vector<StackFrame>& frames) {
  // In the user's code that a known function calls (a hook, a module) it is not the known one that
  // waits.
  const StackFrame* const own = innermost_of(Kind::python, frames, 0);
  std::size_t depth =
      own != nullptr ? static_cast<std::size_t>(own - frames.data()) : frames.size();
  while (depth-- > 0) {
    const StackFrame& frame = frames[depth];
    const auto* found =
        std::find_if(std::begin(kKnown), std::end(kKnown),
                     [&](const KnownFrame& known) { return matches(known, frame); });
    if (found == std::end(kKnown)) continue;
    return KnownWait{
        found, frame.kind == Kind::python ? frame.function : std::string(name_of(frame)), depth};
  }
  return std::nullopt;
}

std::string waits_for(const std::vector<StackFrame>& frames) {
  const auto known = known_wait(frames);
  if (!known) return "";
  const std::string what = known->operation + " of " + std::string(known->row->library);
  switch (known->row->wait) {
    case collective:
      return what + ", for the other ranks";
    case peer:
      return what + ", for another rank";
    case start:
      return what + ", for ranks that have not come";
    case gradients:
      return what + ", for its device or gradients of the other ranks";
    case device:
      return what + ", for its device";
    case loader:
      return "its data loader";
    case children:
      return what + ", for a process that it has started";
  }
  return "";
}

const StackFrame* user_frame(const std::vector<StackFrame>& frames, std::size_t depth) {
  const StackFrame* const found = innermost_of(Kind::python, frames, depth);
  return found != nullptr ? found : innermost_of(Kind::native, frames, depth);
}

}  // namespace dlaunch
