// Sizes in bytes as users type them, and the series of sizes that a benchmark measures. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace dlaunch::measure {

inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
inline constexpr std::size_t kMostSizes = 1000;

/// "8", "64K", "1M", "4G", also "4GB" and "4GiB", in any case: powers of 1024, as nccl-tests reads
/// them. At most kMostBytes. Errors: kUsage, without the option's name.
[[nodiscard]] Result<std::uint64_t> read_size(std::string_view text);

/// "8", "64K", "1.5M" if that is exact; else all digits.
[[nodiscard]] std::string short_size(std::uint64_t bytes);

/// From `first` to at most `last`; each size is the previous one times `factor` or, if `step` is
/// not 0, plus `step`.
struct SizeSeries {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint32_t factor = 2;
  std::uint64_t step = 0;
  bool operator==(const SizeSeries&) const = default;
};

/// Errors: kUsage: first > last, a factor below 2, more than kMostSizes sizes, a size that is not a
/// multiple of `type_size`, no size.
[[nodiscard]] Result<std::vector<std::uint64_t>> sizes_of(const SizeSeries&,
                                                          std::uint64_t type_size);

}  // namespace dlaunch::measure
