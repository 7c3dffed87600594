// A set of logical CPUs as sched_setaffinity(2) takes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sched.h>

namespace dlaunch {

class CpuMask {
 public:
  explicit CpuMask(const std::vector<int>& cpus) {
    if (cpus.empty()) return;
    const auto count = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
    size_ = CPU_ALLOC_SIZE(count);
    words_.resize(size_ / sizeof(unsigned long) + 1, 0UL);
    for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size_, set());
  }
  /// Null if the set is empty, which means "leave as it is".
  [[nodiscard]] cpu_set_t* set() {
    return size_ == 0 ? nullptr : reinterpret_cast<cpu_set_t*>(words_.data());
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::vector<unsigned long> words_;
  std::size_t size_ = 0;
};

}  // namespace dlaunch
