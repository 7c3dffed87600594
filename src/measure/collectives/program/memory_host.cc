#include <cstdlib>
#include <cstring>

#include "measure/collectives/program/memory.h"

namespace dlaunch::collectives {

namespace {

// Aligned to a huge page, so that the kernel can use huge pages.
constexpr std::size_t kAlignment = std::size_t{2} << 20U;

class HostMemory final : public Memory {
 public:
  [[nodiscard]] bool is_device() const noexcept override { return false; }
  [[nodiscard]] std::string description() const override { return "host memory"; }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    if (bytes > SIZE_MAX - kAlignment) return nullptr;
    const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return std::aligned_alloc(kAlignment, whole);
  }

  void release(void* memory) override { std::free(memory); }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return {};
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return copy_in(to, from, bytes);
  }
};

}  // namespace

std::unique_ptr<Memory> host_memory() {
  return std::make_unique<HostMemory>();
}

}  // namespace dlaunch::collectives
