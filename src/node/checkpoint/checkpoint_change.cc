#include "node/checkpoint/checkpoint_change.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace dlaunch {

CheckpointChange change_of(const CheckpointList& before, const CheckpointList& now,
                           WallTime begun) {
  std::map<std::string_view, const CheckpointItem*> known;
  for (const CheckpointItem& item : before.items) known[item.path] = &item;
  const auto is_written = [&](const CheckpointItem& item) {
    const auto found = known.find(item.path);
    if (found == known.end()) return before.is_whole || item.written >= begun;
    return item.written > found->second->written || item.bytes > found->second->bytes;
  };
  CheckpointChange change;
  for (const CheckpointItem& item : now.items) {
    if (is_written(item)) {
      change.written.push_back(item);
    } else if (!change.older) {
      change.older = item;
    }
  }
  return change;
}

CheckpointList before_ranks(CheckpointList found, const CheckpointList& last, WallTime begun,
                            WallTime ended) {
  std::erase_if(found.items, [&](const CheckpointItem& item) {
    const bool is_recent = item.written >= begun && item.written <= ended;
    return is_recent && std::find(last.items.begin(), last.items.end(), item) == last.items.end();
  });
  return found;
}

}  // namespace dlaunch
