// What StageFiles knows of archives that are unpacked here: it stages their files like others, and
// decides beforehand whether the folder that gets their content may be replaced.
#include <algorithm>

#include <fcntl.h>

#include "node/stage/stage_files.h"
#include "node/unpack/unpack_record.h"

namespace dlaunch {

void StageFiles::look_at_target(Item& item) {
  SyncTree& tree = tree_of(item);
  const std::string& name = item.at.unpack;
  const auto record = load_unpack_record(tree, name);
  const auto folder = identity_of_folder(tree, name);
  item.was_unpacked =
      folder && std::any_of(record.begin(), record.end(), [&](const sync::Unpacked& one) {
        return one.is_same_folder(*folder) && one.size == item.at.entry.size &&
               one.mtime == item.at.entry.mtime;
      });
  if (item.was_unpacked) return;
  const std::string why = why_not_replaced(tree, name, record);
  if (!why.empty()) problem_ = below(item.at.root, name) + why;
}

std::vector<std::uint32_t> StageFiles::archives() const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < items_.size(); ++i) {
    if (!items_[i].at.unpack.empty() && !items_[i].was_unpacked) found.push_back(i);
  }
  return found;
}

std::uint64_t StageFiles::arrived(std::uint32_t number) const {
  if (items_[number].is_whole) return entry_of(number).size;
  return current_ && current_->entry == number ? current_->done : 0;
}

UniqueFd StageFiles::open_archive(std::uint32_t number) {
  const Item& item = items_[number];
  if (!current_ || current_->entry != number) return tree_of(item).open_file(item.at.entry.path);
  // A new descriptor, because the part's own can be written to and holds the lock.
  const std::string part = "/proc/self/fd/" + std::to_string(current_->basis.part.get());
  return UniqueFd(::open(part.c_str(), O_RDONLY | O_CLOEXEC));
}

void StageFiles::remove_unpacked() {
  for (const Item& item : items_) {
    if (!item.is_unpacked && !item.was_unpacked) continue;
    static_cast<void>(tree_of(item).remove(item.at.entry.path, false));
    if (item.was_unpacked && item.is_fetched) static_cast<void>(tree_of(item).remove_part(item.at.entry.path));
  }
}

}  // namespace dlaunch
