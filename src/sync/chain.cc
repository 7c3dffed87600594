#include "sync/chain.h"

namespace dlaunch::sync {

std::optional<std::size_t> Chain::source_of(std::size_t node) const {
  if (!forwards_[node] || failed_[node].size() >= kMostTries) return std::nullopt;
  for (std::size_t source = node; source-- > 0;) {
    if (forwards_[source] && !failed_[node].contains(source)) return source;
  }
  return std::nullopt;
}

}  // namespace dlaunch::sync
