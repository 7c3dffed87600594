// Communicators over NCCL. Calls are enqueued on the caller's stream and return; NCCL is used in
// its non-blocking mode (ncclConfig_t::blocking = 0), so that nothing waits for a peer without a
// limit.
//
// Rules: NCCL user guide, "Creating a Communicator", "Fault Tolerance", "In-place Operations".
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>
#include <sched.h>

#include "measure/collectives/backend.h"
#include "measure/collectives/exchange.h"
#include "measure/collectives/nccl_device.h"
#include "measure/collectives/nccl_library.h"

namespace dlaunch::collectives {

namespace {

using Clock = std::chrono::steady_clock;
using Kind = Call::Kind;

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::int8:
      return ncclInt8;
    case DataType::uint8:
      return ncclUint8;
    case DataType::int32:
      return ncclInt32;
    case DataType::uint32:
      return ncclUint32;
    case DataType::int64:
      return ncclInt64;
    case DataType::uint64:
      return ncclUint64;
    case DataType::float16:
      return ncclFloat16;
    case DataType::bfloat16:
      return ncclBfloat16;
    case DataType::float32:
      return ncclFloat32;
    case DataType::float64:
      return ncclFloat64;
  }
  return ncclInt8;
}

ncclRedOp_t nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return ncclSum;
    case ReduceOp::prod:
      return ncclProd;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
    case ReduceOp::avg:
      return ncclAvg;
  }
  return ncclSum;
}

class NcclBackend final : public Backend {
 public:
  NcclBackend(const NcclLibrary& nccl, std::chrono::milliseconds timeout, int device)
      : nccl_(nccl), timeout_(timeout), device_(device) {}

  ~NcclBackend() override {
    (void)cudaSetDevice(device_);
    leave();
    if (token_ != nullptr) cudaFree(token_);
  }
  NcclBackend(const NcclBackend&) = delete;
  NcclBackend& operator=(const NcclBackend&) = delete;

  Status open(const ncclUniqueId& id, int rank, int size) {
    ncclConfig_t config = own_config();
    return opened(nccl_.comm_init_rank_config(&comm_, size, id, rank, &config));
  }

  [[nodiscard]] std::string description() const override { return "nccl: " + nccl_.version(); }
  [[nodiscard]] bool takes_device_buffers() const noexcept override { return true; }

  Result<std::unique_ptr<Backend>> split(int color, int key) override {
    if (Status here = enter("split"); !here.ok()) return here;
    auto part = std::make_unique<NcclBackend>(nccl_, timeout_, device_);
    ncclConfig_t config = own_config();
    Status status =
        begin("split", [&] { return nccl_.comm_split(comm_, color, key, &part->comm_, &config); });
    if (status.ok()) status = part->opened(ncclSuccess);
    if (!status.ok()) {
      part->abort(1);
      return status;
    }
    return std::unique_ptr<Backend>(std::move(part));
  }

  Status run(const Call& call) override {
    const bool moves_nothing = call.count == 0 && call.kind != Kind::barrier;
    if (moves_nothing) return broken_ ? broken(name_of(call.kind)) : Status();
    if (Status here = enter(name_of(call.kind)); !here.ok()) return here;
    if (Status reached = buffers_.check(call, rank_); !reached.ok()) return reached;
    return begin(name_of(call.kind), [&] { return issue(call); });
  }

  Status synchronize(Stream stream) override {
    if (Status here = enter("synchronize"); !here.ok()) return here;
    const Clock::time_point deadline = Clock::now() + timeout_;
    while (true) {
      const cudaError_t state = cudaStreamQuery(static_cast<cudaStream_t>(stream));
      if (state == cudaSuccess) return broken_ ? broken("synchronize") : Status();
      if (state != cudaErrorNotReady) return give_up(cuda_status(state, "nccl"));
      const ncclResult_t inner = state_of_calls();
      if (broken_) return broken("synchronize");
      if (inner != ncclSuccess && inner != ncclInProgress)
        return give_up(nccl_status(inner, "nccl"));
      if (is_late(deadline))
        return give_up({Code::timed_out, "the other ranks did not join in time"});
      ::sched_yield();
    }
  }

  /// Destroys the communicator; every use of it holds the lock.
  void abort(int /*code*/) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (broken_.exchange(true) || comm_ == nullptr) return;
    (void)cudaSetDevice(device_);
    nccl_.comm_abort(comm_);
    comm_ = nullptr;
  }

 private:
  static ncclConfig_t own_config() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return config;
  }

  Status opened(ncclResult_t begun) {
    if (Status status = settle(begun, "create"); !status.ok()) return status;
    Status placed = begin("create", [&] {
      const ncclResult_t found = nccl_.comm_user_rank(comm_, &rank_);
      return found == ncclSuccess ? nccl_.comm_count(comm_, &size_) : found;
    });
    return placed.ok() ? cuda_status(cudaMalloc(&token_, sizeof(int)), "nccl: cudaMalloc") : placed;
  }

  /// Every thread has its own current device (0 unless it sets one), to which its default stream
  /// belongs. The previous device is not restored: that could create a context on an unused device.
  Status enter(std::string_view what) {
    if (broken_) return broken(what);
    const cudaError_t set = cudaSetDevice(device_);
    return set == cudaSuccess ? Status() : give_up(cuda_status(set, "nccl: cudaSetDevice"));
  }

  template <typename Function>
  Status begin(std::string_view what, Function function) {
    ncclResult_t result = ncclSuccess;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (broken_) return broken(what);
      result = function();
    }
    return settle(result, what);
  }

  ncclResult_t state_of_calls() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ncclResult_t inner = ncclInternalError;
    if (comm_ != nullptr) nccl_.comm_get_async_error(comm_, &inner);
    return inner;
  }

  ncclResult_t issue(const Call& call) {
    auto* const stream = static_cast<cudaStream_t>(call.stream);
    const ncclDataType_t type = nccl_type(call.type);
    const ncclRedOp_t op = nccl_op(call.op);
    switch (call.kind) {
      case Kind::barrier:  // missing in NCCL
        return nccl_.all_reduce(token_, token_, 1, ncclInt32, ncclMax, comm_, stream);
      case Kind::broadcast:
        return nccl_.broadcast(call.receive, call.receive, call.count, type, call.root, comm_,
                               stream);
      case Kind::reduce:
        return nccl_.reduce(call.send, call.receive, call.count, type, op, call.root, comm_,
                            stream);
      case Kind::all_reduce:
        return nccl_.all_reduce(call.send, call.receive, call.count, type, op, comm_, stream);
      case Kind::all_gather:
        return nccl_.all_gather(call.send, call.receive, call.count, type, comm_, stream);
      case Kind::reduce_scatter:
        return nccl_.reduce_scatter(call.send, call.receive, call.count, type, op, comm_, stream);
      case Kind::all_to_all:
        return all_to_all(call, type, stream);
      case Kind::send:
        return nccl_.send(call.send, call.count, type, call.to, comm_, stream);
      case Kind::receive:
        return nccl_.receive(call.receive, call.count, type, call.from, comm_, stream);
      case Kind::send_receive:
        nccl_.group_start();
        (void)nccl_.send(call.send, call.count, type, call.to, comm_,
                         stream);  // group_end() returns the error
        (void)nccl_.receive(call.receive, call.count, type, call.from, comm_, stream);
        return nccl_.group_end();
    }
    return ncclInvalidArgument;
  }

  ncclResult_t all_to_all(const Call& call, ncclDataType_t type, cudaStream_t stream) {
    const std::size_t part = call.count * size_of(call.type);
    nccl_.group_start();
    for (int peer = 0; peer < size_; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * part;
      (void)nccl_.send(static_cast<const char*>(call.send) + at, call.count, type, peer, comm_,
                       stream);
      (void)nccl_.receive(static_cast<char*>(call.receive) + at, call.count, type, peer, comm_,
                          stream);
    }
    return nccl_.group_end();
  }

  /// Waits, within the limit, until NCCL has accepted the call.
  Status settle(ncclResult_t result, std::string_view what) {
    const Clock::time_point deadline = Clock::now() + timeout_;
    while (result == ncclInProgress) {
      if (is_late(deadline))
        return give_up(
            {Code::timed_out, std::string(what) + ": the other ranks did not join in time"});
      ::sched_yield();
      result = state_of_calls();
      if (broken_) return broken(what);
    }
    return result == ncclSuccess ? Status() : give_up(nccl_status(result, what));
  }

  Status nccl_status(ncclResult_t result, std::string_view what) {
    const char* more = nccl_.get_last_error(nullptr);
    std::string text = std::string(what) + ": " + nccl_.get_error_string(result);
    if (more != nullptr && *more != '\0') text += std::string(": ") + more;
    return {result == ncclRemoteError ? Code::peer_failed : Code::internal, text};
  }

  [[nodiscard]] bool is_late(Clock::time_point deadline) const {
    return timeout_.count() > 0 && Clock::now() >= deadline;
  }

  Status give_up(Status why) {
    abort(1);
    return why;
  }

  static Status broken(std::string_view what) {
    return {Code::broken,
            std::string(what) + ": an earlier call failed, or the communicator was aborted"};
  }

  void leave() {
    if (broken_ || comm_ == nullptr) return;
    if (begin("end", [&] { return nccl_.comm_finalize(comm_); }).ok()) nccl_.comm_destroy(comm_);
  }

  const NcclLibrary& nccl_;
  std::chrono::milliseconds timeout_;
  int device_;
  ReachableBuffers buffers_;
  std::mutex mutex_;  // guards comm_
  ncclComm_t comm_ = nullptr;
  void* token_ = nullptr;  // what a barrier reduces
  std::atomic<bool> broken_ = false;
};

}  // namespace

Result<std::string> nccl_name() {
  const auto nccl = NcclLibrary::get();
  if (!nccl) return nccl.status();
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);  // initializes nothing
  if (driver == 0)
    return Status(Code::unavailable, "nccl: NCCL " + (*nccl)->version() +
                                         " is installed, but there is no NVIDIA driver");
  return "NCCL " + (*nccl)->version();
}

Result<std::unique_ptr<Backend>> create_nccl(const Options& options) {
  const auto library = NcclLibrary::get();
  if (!library) return library.status();
  const NcclLibrary& nccl = **library;
  const auto device = own_device();
  if (!device) return device.status();
  if (Status set = cuda_status(cudaSetDevice(*device), "nccl: cudaSetDevice"); !set.ok())
    return set;
  auto exchange = Exchange::get(options.timeout);
  if (!exchange) return exchange.status();
  ncclUniqueId id{};
  if ((*exchange)->rank() == 0 && nccl.get_unique_id(&id) != ncclSuccess)
    return Status(Code::internal, "nccl: cannot create a unique id");
  const auto bytes = (*exchange)->broadcast({id.internal, sizeof id.internal});
  if (!bytes) return bytes.status();
  if (bytes->size() != sizeof id.internal)
    return Status(Code::internal,
                  "nccl: the unique id has the wrong size: the NCCL versions of the ranks differ");
  bytes->copy(id.internal, sizeof id.internal);
  auto backend = std::make_unique<NcclBackend>(nccl, options.timeout, *device);
  Status status = backend->open(id, (*exchange)->rank(), (*exchange)->size());
  if (!status.ok()) return status;
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace dlaunch::collectives
