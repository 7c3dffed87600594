// What a staging writes into the records of its targets, and whether an item changes its target.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "node/stage/stage_files.h"
#include "os/clock.h"

namespace dlaunch {

using Action = sync::Decision::Action;

/// A file that was here already also gets blocks if other nodes lack them, and becomes a name of
/// another one that is equal.
bool StageFiles::is_written(const Item& item) const {
  return item.action == Action::make ||
         ((item.is_fetched || needs_link(item)) &&
          (item.action == Action::send || item.action == Action::compare));
}

bool StageFiles::is_changed(const Item& item) const {
  return !item.was_unpacked && (is_written(item) || !item.at.unpack.empty()) && !item.is_same;
}

void StageFiles::fill_records() {
  for (const Item& item : items_) {
    if (auto& record = records_[item.at.root])
      record->add(item.at.entry, (is_written(item) && !item.is_same) || item.was_unpacked);
  }
}

void StageFiles::save_records() {
  std::vector<bool> writes(roots_.size());
  std::vector<bool> unpacks(roots_.size());
  for (const Item& item : items_) {
    writes[item.at.root] = writes[item.at.root] || is_changed(item);
    unpacks[item.at.root] = unpacks[item.at.root] || !item.at.unpack.empty();
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (!records_[i]) continue;
    StagedTarget about;
    about.target = origins_[i].target.empty() ? roots_[i] : origins_[i].target;
    about.source = origins_[i].name;
    about.unpacked = unpacks[i];
    about.made_folder = made_[i];
    std::error_code error;
    about.real_root = std::filesystem::canonical(roots_[i], error).string();
    about.staged_at = wall_now().time_since_epoch().count();
    about.by = by_;
    records_[i]->save(std::move(about), writes[i]);
  }
}

std::vector<std::string> StageFiles::changed_targets() {
  std::vector<bool> changes(roots_.size());
  for (const Item& item : items_) {
    if (!is_source_[item.at.root])
      changes[item.at.root] = changes[item.at.root] || is_changed(item);
  }
  std::vector<std::string> targets;
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    if (changes[i] || (records_[i] && records_[i]->has_gone(trees_[i])))
      targets.push_back(origins_[i].target.empty() ? roots_[i] : origins_[i].target);
  }
  return targets;
}

std::uint64_t StageFiles::removed() const {
  std::uint64_t removed = 0;
  for (const auto& record : records_) removed += record ? record->removed() : 0;
  return removed;
}

}  // namespace dlaunch
