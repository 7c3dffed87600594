#include "sync/blocks.h"

#include <algorithm>
#include <iterator>

namespace dlaunch::sync {

void BlockMap::add(std::uint64_t size) {
  ends_.push_back(total() + blocks_of(size));
  sizes_.push_back(size);
}

BlockMap::Place BlockMap::place_of(std::uint64_t block) const {
  const auto entry = std::upper_bound(ends_.begin(), ends_.end(), block) - ends_.begin();
  const auto number = static_cast<std::uint32_t>(entry);
  const std::uint64_t offset = (block - first_of(number)) * kBlockBytes;
  return {number, offset, std::min(kBlockBytes, sizes_[number] - offset)};
}

BlockStream::BlockStream(const std::vector<bool>& missing) {
  for (std::uint64_t block = 0; block < missing.size(); ++block) {
    if (!missing[block]) continue;
    if (!runs_.empty() && runs_.back().first + runs_.back().count == block) {
      ++runs_.back().count;
      ++ends_.back();
    } else {
      ends_.push_back(size() + 1);
      runs_.push_back({block, 1});
    }
  }
}

bool BlockStream::add(const BlockRun& run, std::uint64_t total) {
  const std::uint64_t from = runs_.empty() ? 0 : runs_.back().first + runs_.back().count;
  if (run.count == 0 || run.first < from || run.first >= total || run.count > total - run.first)
    return false;
  ends_.push_back(size() + run.count);
  runs_.push_back(run);
  return true;
}

bool BlockStream::has(std::uint64_t first, std::uint64_t end) const {
  const auto next =
      std::upper_bound(runs_.begin(), runs_.end(), first,
                       [](std::uint64_t block, const BlockRun& run) { return block < run.first; });
  return next != runs_.begin() && end <= std::prev(next)->first + std::prev(next)->count;
}

std::uint64_t BlockStream::at(std::uint64_t position) const {
  const auto run = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), position) -
                                            ends_.begin());
  return runs_[run].first + position - (ends_[run] - runs_[run].count);
}

}  // namespace dlaunch::sync
