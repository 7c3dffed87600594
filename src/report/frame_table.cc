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
constexpr std::string_view kJax = "jax";
constexpr std::string_view kMultihost = "jax/experimental/multihost_utils.py";
constexpr std::string_view kTensorflow = "tensorflow";
constexpr std::string_view kStrategy = "tensorflow/python/distribute/distribute_lib.py";
constexpr std::string_view kHorovod = "horovod";

constexpr KnownFrame kKnown[] = {
    // PyTorch; the same rows fit gloo, NCCL and MPI
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
    // DistributedDataParallel's own frame is innermost while it synchronises buffers.
    {Kind::python, "forward", kDdp, collective, kTorch},
    {Kind::python, "backward", "torch/_tensor.py", step, "torch.autograd"},
    {Kind::python, "backward", "torch/autograd/__init__.py", step, "torch.autograd"},
    {Kind::python, "wait_tensor", "torch/distributed/_functional_collectives.py", collective,
     kTorch},
    {Kind::python, "_sync_params", "torch/distributed/optim/zero_redundancy_optimizer.py",
     collective, kTorch},
    {Kind::python, "init_rpc", "torch/distributed/rpc/", start, kTorch},
    {Kind::python, "shutdown", "torch/distributed/rpc/", collective, kTorch},
    {Kind::python, "synchronize", "torch/cuda/", device, "torch.cuda"},
    {Kind::native, "c10d::Work::wait", "", collective, kTorch},
    {Kind::native, "c10d::ProcessGroupGloo::RecvWork::wait", "", peer, kTorch},
    {Kind::native, "c10d::PrefixStore::*", "", peer, kTorch},
    {Kind::native, "c10d::TCPStore::*", "", peer, kTorch},
    // The main process waits for its workers.
    {Kind::python, "_get_data", "torch/utils/data/dataloader.py", loader, "torch.utils.data"},
    // JAX; most of its collectives run inside a compiled step
    {Kind::python, "initialize", "jax/_src/distributed.py", start, kJax},
    {Kind::python, "backends", "jax/_src/xla_bridge.py", start, kJax},
    {Kind::python, "shutdown", "jax/_src/distributed.py", collective, kJax},
    {Kind::python, "sync_global_devices", kMultihost, collective, kJax},
    {Kind::python, "broadcast_one_to_all", kMultihost, collective, kJax},
    {Kind::python, "process_allgather", kMultihost, collective, kJax},
    {Kind::python, "assert_equal", kMultihost, collective, kJax},
    {Kind::python, "block_until_ready", "jax/_src/api.py", step, kJax},
    {Kind::python, "__call__", "jax/_src/interpreters/pxla.py", step, kJax},
    {Kind::native, "xla::cpu::GlooCommunicator::*", "", collective, kJax},
    // TensorFlow; most of its collectives run inside a compiled step
    {Kind::python, "__init__", "tensorflow/python/distribute/collective_all_reduce_strategy.py",
     start, kTensorflow},
    {Kind::python, "run", kStrategy, step, kTensorflow},
    {Kind::python, "reduce", kStrategy, collective, kTensorflow},
    {Kind::python, "gather", kStrategy, collective, kTensorflow},
    {Kind::python, "broadcast_*", "tensorflow/python/ops/collective_ops.py", collective,
     kTensorflow},
    {Kind::python, "__call__", "tensorflow/python/eager/polymorphic_function/", step, kTensorflow},
    // Horovod
    {Kind::python, "synchronize", "horovod/torch/", collective, kHorovod},
    {Kind::python, "allgather", "horovod/torch/", collective, kHorovod},
    {Kind::python, "broadcast_*", "horovod/torch/", collective, kHorovod},
    // NCCL and CUDA
    {Kind::native, "ncclAllReduce", "", collective, "NCCL"},
    {Kind::native, "ncclGroupEnd", "", collective, "NCCL"},
    {Kind::native, "ncclCommInit*", "", start, "NCCL"},
    {Kind::native, "ncclComm*", "", collective, "NCCL"},
    {Kind::native, "cu*Synchronize", "", device, "CUDA"},
    {Kind::native, "cudaMemcpy*", "", device, "CUDA"},
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
    {Kind::native, "ompi_mpi_finalize", "", collective, "MPI"},  // MPI_Finalize tail-calls it
};

/// The function's name in the form that the rows use.
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
  const std::size_t star = known.function.find('*');
  if (star == std::string_view::npos) return name == known.function;
  const std::string_view after = known.function.substr(star + 1);
  return name.size() >= star + after.size() && name.starts_with(known.function.substr(0, star)) &&
         name.ends_with(after);
}

bool has_any(const std::string& text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

/// Whether the frame is in the user's own code.
bool is_the_users(const StackFrame& frame) {
  static constexpr std::array<std::string_view, 4> kPackages{"/site-packages/", "/dist-packages/",
                                                             "/lib/python", "<"};
  // Shared objects without source lines, and glibc's sources as named in Debian's builds.
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

/// The innermost of the user's own frames of this kind, from `depth` outward. Null: there is none.
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
  // If a known function has called the user's code (a hook, a module), then it is not this function
  // that waits.
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
      return what + ", for ranks that have not arrived";
    case step:
      return what + ", for its device or the other ranks";
    case device:
      return what + ", for its device";
    case loader:
      return "its data loader";
    case children:
      return what + ", for a process that it started";
  }
  return "";
}

const StackFrame* user_frame(const std::vector<StackFrame>& frames, std::size_t depth) {
  const StackFrame* const found = innermost_of(Kind::python, frames, depth);
  return found != nullptr ? found : innermost_of(Kind::native, frames, depth);
}

}  // namespace dlaunch
