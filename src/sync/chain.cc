#include "sync/chain.h"

#include <algorithm>
#include <numeric>

namespace dlaunch::sync {

Chain::Chain(std::vector<bool> forwards, const std::vector<bool>& holds)
    : order_(forwards.size()), forwards_(std::move(forwards)), failed_(forwards_.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (holds.empty()) return;
  std::stable_partition(order_.begin(), order_.end(),
                        [&](std::size_t node) { return holds[node]; });
}

std::optional<std::size_t> Chain::source_of(std::size_t node) const {
  if (!forwards_[node] || failed_[node].size() >= kMostTries) return std::nullopt;
  auto source = std::find(order_.begin(), order_.end(), node);
  while (source != order_.begin()) {
    --source;
    if (forwards_[*source] && !failed_[node].contains(*source)) return *source;
  }
  return std::nullopt;
}

bool Chain::may_have_source(std::size_t node) const {
  return forwards_[node] && std::count(forwards_.begin(), forwards_.end(), true) > 1;
}

void Chain::move_to_end(std::size_t node) {
  const auto place = std::find(order_.begin(), order_.end(), node);
  std::rotate(place, place + 1, order_.end());
}

void Chain::failed(std::size_t source, std::size_t node) {
  // That a node is gone says nothing about whether the others reach each other.
  if (forwards_[source]) failed_[node].insert(source);
}

}  // namespace dlaunch::sync
