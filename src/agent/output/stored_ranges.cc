#include "agent/output/stored_ranges.h"

#include <algorithm>

namespace dlaunch {

void StoredRanges::add(std::uint64_t begin, std::uint64_t size, std::uint64_t in_file) {
  if (size == 0) return;
  total_ += size;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (last.begin + last.size == begin && last.in_file + last.size == in_file) {
      last.size += size;
      return;
    }
  }
  pieces_.push_back({begin, size, in_file});
}

std::optional<StoredRanges::Piece> StoredRanges::from(std::uint64_t offset) const {
  if (offset >= end()) return std::nullopt;
  const auto found = std::partition_point(
      pieces_.begin(), pieces_.end(),
      [offset](const Piece& piece) { return piece.begin + piece.size <= offset; });
  const std::uint64_t skipped = offset > found->begin ? offset - found->begin : 0;
  return Piece{found->begin + skipped, found->size - skipped, found->in_file + skipped};
}

std::uint64_t StoredRanges::end() const {
  return pieces_.empty() ? 0 : pieces_.back().begin + pieces_.back().size;
}

}  // namespace dlaunch
