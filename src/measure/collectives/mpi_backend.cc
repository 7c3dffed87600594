// Communicators over MPI. Without a time-out a call blocks; with one it is started and polled until
// it completes or times out. MPI 3.1 cannot cancel a collective call, so a late one leaves the
// communicator broken.
#include <array>
#include <atomic>
#include <chrono>
#include <string>

#include <sched.h>

#include <mpi.h>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include "measure/collectives/backend.h"
#include "measure/collectives/mpi_calls.h"
#include "measure/collectives/mpi_library.h"
#include "measure/collectives/staging.h"

namespace dlaunch::collectives {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLooksBetweenYields = 200;  // takes about as long as a small message

bool is_cuda_aware() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

std::string seconds_text(std::chrono::milliseconds time) {
  const long long ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

using Requests = std::array<MPI_Request, 2>;

Status wait_for(Requests& requests, std::chrono::milliseconds timeout, std::string_view what) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    for (int look = 0; look < kLooksBetweenYields; ++look) {
      int over = 0;
      const int error = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &over,
                                    MPI_STATUSES_IGNORE);
      if (error != MPI_SUCCESS || over != 0) return mpi_status(error, what);
    }
    if (Clock::now() >= deadline) {
      return {Code::timed_out,
              std::string(what) + ": the other ranks did not join within " + seconds_text(timeout)};
    }
    ::sched_yield();  // other ranks may wait for this processor
  }
}

Status copy_world(std::chrono::milliseconds timeout, MPI_Comm& copy) {
  constexpr std::string_view kWhat = "create";
  if (timeout.count() == 0) return mpi_status(MPI_Comm_dup(MPI_COMM_WORLD, &copy), kWhat);
  Requests requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const int error = MPI_Comm_idup(MPI_COMM_WORLD, &copy, requests.data());
  if (Status begun = mpi_status(error, kWhat); !begun.ok()) return begun;
  return wait_for(requests, timeout, kWhat);
}

class MpiBackend final : public Backend {
 public:
  MpiBackend(std::shared_ptr<MpiLibrary> library, MPI_Comm comm, std::chrono::milliseconds timeout)
      : library_(std::move(library)), names_(library_->names()), comm_(comm), timeout_(timeout) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    most_elements_ = kMostElementsOfMpi;
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  ~MpiBackend() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && !broken_) MPI_Comm_free(&comm_);
  }
  MpiBackend(const MpiBackend&) = delete;
  MpiBackend& operator=(const MpiBackend&) = delete;

  [[nodiscard]] std::string description() const override { return "mpi: " + mpi_version(); }
  [[nodiscard]] bool takes_device_buffers() const noexcept override {
    return is_cuda_aware_ || device_ != nullptr;
  }

  Result<std::unique_ptr<Backend>> split(int color, int key) override {
    // MPI_Comm_split has no time limit, but is quick once all ranks have joined.
    if (Status here = run({}); !here.ok()) return here;
    MPI_Comm part = MPI_COMM_NULL;
    if (Status status = mpi_status(MPI_Comm_split(comm_, color, key, &part), "split"); !status.ok())
      return status;
    return std::unique_ptr<Backend>(std::make_unique<MpiBackend>(library_, part, timeout_));
  }

  Status run(const Call& call) override {
    if (is_plain_.load(std::memory_order_relaxed))
        [[likely]] {  // more would be noticeable in a call of 100 ns
      const int error = run_blocking(call, names_, comm_, rank_, size_);
      if (error == MPI_SUCCESS) [[likely]]
        return {};
      return give_up(mpi_status(error, name_of(call.kind)));
    }
    if (device_ == nullptr) return run_as_it_is(call);
    const bool reaches_it = is_cuda_aware_ && !needs_host(call, rank_);
    if (reaches_it || !is_on_device(call, rank_, *device_)) return run_as_it_is(call);
    return run_staged(call, rank_, size_, *device_,
                      [this](const Call& on_host) { return run_as_it_is(on_host); });
  }

  Status synchronize(Stream /*stream*/) override {
    return broken_ ? Status(Code::broken, "an earlier call failed") : Status();
  }

  void abort(int code) override { MPI_Abort(comm_, code); }

 private:
  Status run_as_it_is(const Call& call) {
    if (broken_)
      return {Code::broken, std::string(name_of(call.kind)) + ": an earlier call failed"};
    Status status =
        timeout_.count() == 0
            ? mpi_status(run_blocking(call, names_, comm_, rank_, size_), name_of(call.kind))
            : run_in_time(call);
    return status.ok() ? status : give_up(std::move(status));
  }

  Status run_in_time(const Call& call) {
    const std::string_view what = name_of(call.kind);
    Requests requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (Status begun = mpi_status(begin(call, names_, comm_, rank_, requests), what); !begun.ok())
      return begun;
    Status over = wait_for(requests, timeout_, what);
    if (over.ok() && is_incomplete(call, call.kind, rank_)) complete(call, rank_, size_);
    return over;
  }

  Status give_up(Status why) {
    broken_ = true;
    is_plain_ = false;
    library_->set_broken();
    return why;
  }

  std::shared_ptr<MpiLibrary> library_;
  const MpiNames& names_;
  MPI_Comm comm_;
  std::chrono::milliseconds timeout_;
  DeviceMemory* device_ = cuda_memory();  // null: every buffer is in host memory
  bool is_cuda_aware_ = is_cuda_aware();
  std::atomic<bool> broken_ = false;
  /// Whether calls block, no buffer is in device memory, and nothing is broken.
  std::atomic<bool> is_plain_ = device_ == nullptr && timeout_.count() == 0;
};

}  // namespace

Result<std::string> mpi_name() {
  return mpi_version();
}

Result<std::unique_ptr<Backend>> create_mpi(const Options& options) {
  auto library = MpiLibrary::get();
  if (!library) return library.status();
  MPI_Comm comm = MPI_COMM_NULL;
  if (Status status = copy_world(options.timeout, comm); !status.ok()) {
    (*library)->set_broken();
    return status;
  }
  return std::unique_ptr<Backend>(
      std::make_unique<MpiBackend>(std::move(*library), comm, options.timeout));
}

}  // namespace dlaunch::collectives
