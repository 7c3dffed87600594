// Whether the file systems of a node have room for a staging.
#include <algorithm>
#include <cerrno>

#include "model/result.h"
#include "node/stage/stage_files.h"
#include "text/size_text.h"

namespace dlaunch {

using Action = sync::Decision::Action;

void StageFiles::check_room() {
  struct Needs {
    std::size_t root = 0;
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
  };
  if (!names_.empty() && names_.rbegin()->first >= items_.size())
    return refuse("a hard link was announced without its file");
  fill_records();
  std::map<std::uint64_t, Needs> needs;  // by file system
  std::vector<bool> writes(trees_.size());
  std::vector<std::uint64_t> devices;
  for (const SyncTree& tree : trees_) devices.push_back(tree.device());
  next_ = 0;
  for (const Item& item : items_) {
    const bool is_made = item.action == Action::make && !item.is_fetched;
    if (is_source_[item.at.root]) continue;
    writes[item.at.root] = writes[item.at.root] || is_made || item.is_fetched || is_written(item);
    if (!is_made && !item.is_fetched) continue;
    Needs& here = needs.try_emplace(devices[item.at.root], Needs{item.at.root}).first->second;
    if (!item.has_part) ++here.files;
    const std::uint64_t size = item.at.entry.size;
    if (item.is_fetched) here.bytes += size - std::min(size, item.at.holes + item.part_room);
  }
  for (std::size_t i = 0; i < trees_.size(); ++i) {
    if (!writes[i]) continue;
    const int error = errors_[i] != 0 ? errors_[i] : trees_[i].check_writable();
    if (error != 0) problem_ = roots_[i] + ": " + errno_text(error);
  }
  for (const auto& [device, need] : needs) {
    if (!problem_.empty()) return;
    const SyncTree& tree = trees_[need.root];
    if (need.bytes > tree.room()) {
      problem_ = roots_[need.root] + ": " + errno_text(ENOSPC) + ": " + size_text(need.bytes) +
                 " are needed, " + size_text(tree.room()) + " are free";
    } else if (need.files > tree.room_for_files()) {
      problem_ = roots_[need.root] + ": " + errno_text(ENOSPC) + ": " + std::to_string(need.files) +
                 " files are needed, but there are inodes only for " +
                 std::to_string(tree.room_for_files());
    }
  }
}

}  // namespace dlaunch
