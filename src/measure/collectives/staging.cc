#include "measure/collectives/staging.h"

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch::collectives {

namespace {

using Kind = Call::Kind;

/// Bytes of the buffers that this rank uses; 0: none.
struct Extent {
  std::size_t send = 0;
  std::size_t receive = 0;
};

Extent extent_of(const Call& call, int rank, int size) {
  const std::size_t part = call.count * size_of(call.type);
  const std::size_t all = part * static_cast<std::size_t>(size);
  Extent extent;
  if (reads(call))
    extent.send = call.kind == Kind::all_gather || !is_of_all(call.kind) ? part : all;
  if (writes(call, rank))
    extent.receive = call.kind == Kind::reduce_scatter || !is_of_all(call.kind) ? part : all;
  return extent;
}

/// A host copy of a device buffer; for a host buffer the buffer itself.
class Stage {
 public:
  Stage(const void* buffer, std::size_t bytes, DeviceMemory& device)
      : buffer_(const_cast<void*>(buffer)), bytes_(bytes), device_(device) {
    if (bytes == 0 || !device.holds(buffer)) return;
    is_staged_ = true;
    copy_.reset(new (std::nothrow) char[bytes]);
  }

  [[nodiscard]] bool is_missing() const { return is_staged_ && copy_ == nullptr; }
  [[nodiscard]] char* at(std::size_t offset = 0) const {
    return (is_staged_ ? copy_.get() : static_cast<char*>(buffer_)) + offset;
  }
  Status fetch(std::size_t offset, std::size_t bytes) {
    return is_staged_ ? device_.copy(at(offset), original(offset), bytes) : Status();
  }
  Status fetch() { return fetch(0, bytes_); }
  Status give_back(std::size_t offset, std::size_t bytes) {
    return is_staged_ ? device_.copy(original(offset), at(offset), bytes) : Status();
  }
  Status give_back() { return give_back(0, bytes_); }
  /// Never frees the copy, which a call that timed out still uses.
  void leave() {
    static std::mutex mutex;
    static auto& left = *new std::vector<std::unique_ptr<char[]>>;
    const std::lock_guard<std::mutex> lock(mutex);
    if (is_staged_) left.push_back(std::move(copy_));
  }

 private:
  [[nodiscard]] char* original(std::size_t offset) const {
    return static_cast<char*>(buffer_) + offset;
  }

  void* buffer_;
  std::size_t bytes_;
  DeviceMemory& device_;
  bool is_staged_ = false;
  std::unique_ptr<char[]> copy_;  // not initialized, since everything that is read is fetched first
};

Status no_memory(const Call& call) {
  return {Code::unavailable,
          std::string(name_of(call.kind)) + ": no host memory for a copy of the device buffers"};
}

using Run = std::function<Status(const Call&)>;

/// A part of the buffer of an in-place call.
struct Range {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

Status run_in_one(Call call, Stage& whole, Range from, Range to, const Run& run) {
  if (whole.is_missing()) return no_memory(call);
  Status done = from.bytes > 0 ? whole.fetch(from.offset, from.bytes) : Status();
  if (!done.ok()) return done;
  call.send = whole.at(from.offset);
  call.receive = whole.at(to.offset);
  done = run(call);
  if (!done.ok()) whole.leave();
  return done.ok() && to.bytes > 0 ? whole.give_back(to.offset, to.bytes) : done;
}

}  // namespace

bool is_on_device(const Call& call, int rank, const DeviceMemory& device) noexcept {
  if (call.count == 0) return false;
  return (reads(call) && device.holds(call.send)) ||
         (writes(call, rank) && device.holds(call.receive));
}

Status run_staged(const Call& call, int rank, int size, DeviceMemory& device, const Run& run) {
  const Extent extent = extent_of(call, rank, size);
  const std::size_t part = call.count * size_of(call.type);
  const std::size_t own = static_cast<std::size_t>(rank) * part;
  if (call.kind == Kind::broadcast) {
    Stage whole(call.receive, part, device);
    const bool gives = rank == call.root;
    return run_in_one(call, whole, {0, gives ? part : 0}, {0, gives ? 0 : part}, run);
  }
  if (in_place(call, rank) && extent.receive > 0) {
    const bool parts = is_of_all(call.kind);
    const bool gathers = call.kind == Kind::all_gather;
    Stage whole(gathers ? call.receive : call.send, gathers ? extent.receive : extent.send, device);
    return run_in_one(call, whole, {gathers ? own : 0, extent.send},
                      {parts && !gathers ? own : 0, extent.receive}, run);
  }
  Stage send(call.send, extent.send, device);
  Stage receive(call.receive, extent.receive, device);
  if (send.is_missing() || receive.is_missing()) return no_memory(call);
  if (Status fetched = send.fetch(); !fetched.ok()) return fetched;
  Call on_host = call;
  on_host.send = send.at();
  on_host.receive = receive.at();
  Status done = run(on_host);
  if (done.ok()) return receive.give_back();
  send.leave();
  receive.leave();
  return done;
}

}  // namespace dlaunch::collectives
