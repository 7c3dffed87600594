// The memory of a measurement's buffers: host memory, or this rank's GPU; each has its own file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "dlaunch/collectives/communicator.h"

namespace dlaunch::collectives {

/// Not thread-safe.
class Memory {
 public:
  virtual ~Memory() = default;

  /// Whether it is memory of a GPU, where calls are asynchronous.
  [[nodiscard]] virtual bool is_device() const noexcept = 0;

  /// "host memory", "NVIDIA H200 (0000:3b:00.0)".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Null: not enough memory.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  /// Copy between this memory and host memory, synchronously.
  virtual Status copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual Status copy_out(void* to, const void* from, std::size_t bytes) = 0;
};

[[nodiscard]] std::unique_ptr<Memory> host_memory();
/// The memory of the GPU that the communicator uses. Code::unavailable in a build without CUDA.
[[nodiscard]] Result<std::unique_ptr<Memory>> device_memory();

/// Owns its bytes; the memory must outlive it.
class Buffer {
 public:
  Buffer() = default;
  /// data() is null if there was not enough memory.
  Buffer(Memory& memory, std::size_t bytes)
      : memory_(&memory), data_(bytes > 0 ? memory.allocate(bytes) : nullptr), size_(bytes) {}
  ~Buffer() {
    if (data_ != nullptr) memory_->release(data_);
  }
  Buffer(Buffer&& other) noexcept
      : memory_(other.memory_), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  [[nodiscard]] char* data() const { return static_cast<char*>(data_); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  Memory* memory_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dlaunch::collectives
