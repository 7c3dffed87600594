// What StageFiles does with files that have several names (hard links) in one folder of the source.
// The last name in the list stands for the content; once that is here, the other names become links
// to it. If the file is already here under another of its names, nothing is fetched, and that one
// is the holder to which all are linked.
#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "node/stage/stage_files.h"

namespace dlaunch {

namespace {

using Action = sync::Decision::Action;
using Kind = SyncEntry::Kind;

constexpr std::size_t kLinks = 256;  // in one turn

/// The same size and time.
bool is_here(Action action) {
  return action == Action::keep || action == Action::set_mode;
}

/// The file system has no hard links, or none between these folders, or not that many, or none to
/// the file of another user.
bool is_refused(int error) {
  return error == EMLINK || error == EPERM || error == EXDEV || error == EOPNOTSUPP ||
         error == ENOSYS;
}

}  // namespace

void StageFiles::add_name(std::uint32_t number) {
  const auto is_good = [](const Item& item) {
    return item.at.entry.kind == Kind::file && item.at.unpack.empty();
  };
  const Item& item = items_[number];
  bool is_wrong = item.at.content_after > 0 && !is_good(item);
  if (const auto names = names_.find(number); names != names_.end()) {
    is_wrong = is_wrong || item.at.content_after > 0 || !is_good(item);
    for (const std::uint32_t name : names->second.further)
      is_wrong = is_wrong || items_[name].at.root != item.at.root ||
                 items_[name].at.entry.size != item.at.entry.size;
  }
  if (is_wrong || item.at.content_after > std::numeric_limits<std::uint32_t>::max() - number)
    return refuse(shown(item) + ": is announced as a hard link of something else");
  if (item.at.content_after == 0) return;
  const std::uint32_t content = number + item.at.content_after;
  names_.try_emplace(content, Names{content}).first->second.further.push_back(number);
}

/// Call when the item's action is decided. May change it, because a file that is right by itself
/// may have names that are not the source's.
void StageFiles::look_at_names(Item& item, const sync::Found& found) {
  if (item.at.entry.kind != Kind::file) return;
  const std::uint32_t number = number_of(item);
  const std::uint32_t content = number + item.at.content_after;
  if (found.names > 1 && item.action != Action::send) {
    const auto owner = owners_.try_emplace({item.at.root, found.device, found.inode}, content);
    item.is_apart = owner.first->second != content;
  }
  std::uint64_t linked = 1;
  if (const auto names = names_.find(number); names != names_.end()) {
    Names& all = names->second;
    if (!is_here(item.action) || item.is_apart) {
      const auto here =
          std::find_if(all.further.begin(), all.further.end(), [this](std::uint32_t name) {
            return is_here(items_[name].action) && !items_[name].is_apart;
          });
      if (here != all.further.end()) all.holder = *here;
    }
    const sync::Found holder = tree_of(item).look(entry_of(all.holder).path);
    item.is_linked = found.is_same_file(holder);
    for (const std::uint32_t name : all.further) {
      items_[name].is_linked = tree_of(item).look(entry_of(name).path).is_same_file(holder);
      if (items_[name].is_linked) ++linked;
    }
  }
  // Setting the time would also change names that are none of the source's, or no longer.
  const bool is_touched = item.action == Action::compare && item.at.content_after == 0;
  item.is_apart = item.is_apart || (is_touched && found.names > linked);
  if (item.is_apart) item.action = Action::send;
}

std::uint32_t StageFiles::content_holder(std::uint32_t number) const {
  const auto names = names_.find(number);
  return names == names_.end() ? number : names->second.holder;
}

bool StageFiles::needs_link(const Item& item) const {
  const std::uint32_t number = number_of(item);
  const std::uint32_t content = number + item.at.content_after;
  if (names_.empty() || is_source_[item.at.root] || !names_.contains(content)) return false;
  const Item& file = items_[content];
  if (file.is_fetched || file.action == Action::make) return number != content;
  return number != content_holder(content) && !item.is_linked;
}

/// True: all names are there.
bool StageFiles::link_some() {
  for (std::size_t i = 0; i < kLinks && !to_link_.empty() && !current_ && problem_.empty(); ++i) {
    const std::uint32_t number = to_link_.back();
    to_link_.pop_back();
    link(number);
  }
  return to_link_.empty() && !current_ && problem_.empty();
}

void StageFiles::link(std::uint32_t number) {
  const Item& item = items_[number];
  const std::uint32_t content = number + item.at.content_after;
  const bool is_new = items_[content].is_fetched || items_[content].action == Action::make;
  const std::string& other = entry_of(is_new ? content : content_holder(content)).path;
  int error = tree_of(item).make_hard_link(item.at.entry.path, other);
  auto& copy_before = names_.at(content).copy;
  if (is_refused(error) && copy_before)
    error = tree_of(item).make_hard_link(item.at.entry.path, entry_of(*copy_before).path);
  if (error == 0) return;
  if (is_here(item.action)) {  // then it stays an equal file of its own
    if (item.action == Action::set_mode) static_cast<void>(tree_of(item).set_mode(item.at.entry));
    return;
  }
  if (!is_refused(error)) return fail(item, error);
  // write_some() copies it, as if all of it were there already.
  Current copy;
  copy.entry = number;
  copy.is_hashed = false;  // the other name is checked
  if (!open_basis(item, true, copy.basis)) return;
  copy.basis.old = tree_of(item).open_file(other);
  copy.basis.old_size = item.at.entry.size;
  current_ = std::move(copy);
  copy_before = number;
}

}  // namespace dlaunch
