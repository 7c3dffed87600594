#include "node/sync/stager.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "model/result.h"
#include "sync/rules.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

using Action = sync::Decision::Action;
using Kind = SyncEntry::Kind;

// Limits for one turn of the loop: a few milliseconds.
constexpr std::size_t kLooks = 256;
constexpr std::size_t kHashBytes = std::size_t{1} << 20;
constexpr std::uint64_t kSignOfLife = std::uint64_t{64} << 20;
constexpr std::size_t kMostTold = 512;  // items in one SyncWants
constexpr std::size_t kMostItems = 2'000'000;
constexpr std::size_t kExamples = 3;  // paths that SyncDone names

}  // namespace

void Stager::abandon() {
  // Otherwise a later sync would not know what this one has written.
  if (active_ && record_ && unrecorded_) save_record();
  active_ = false;
  ++turns_;
  looking_ = all_listed_ = false;
  file_ = {};
  hashing_.reset();
  gone_from_.reset();
  record_.reset();
  recorded_.clear();
  items_.clear();
  paths_.clear();
  unseen_.clear();
  gone_.clear();
  made_folders_.clear();
  unrecorded_ = all_looked_at_ = is_writable_ = false;
  next_ = 0;
  taken_ = written_ = 0;
  wants_ = {};
  done_ = {};
  tree_ = {};
}

void Stager::on(const wire::SyncBegin& begin) {
  abandon();
  id_ = begin.id;
  root_ = begin.root;
  active_ = true;
  wants_.id = done_.id = id_;
  if (!root_.starts_with('/')) return fail(shown("") + ": is not an absolute path");
  const bool is_marker = begin.marker.starts_with(sync::kMarkerPrefix);
  if (is_marker && tree_.open(root_, false) == 0 && tree_.has(begin.marker)) {
    abandon();
    return send_(wire::SyncFolder{begin.id, true});
  }
  int error = tree_.open(root_, true);
  // No marker means that the launcher cannot write to its own folder, and this may be that folder.
  // It then needs to be writable only if something must be written.
  if (error == 0 && is_marker) error = check_writable();
  if (error != 0) return fail("", error);
  record_.emplace(env_, root_, begin.origin);
  recorded_ = record_->load();
  send_(wire::SyncFolder{id_, false});
}

void Stager::on(wire::SyncEntries& entries) {
  if (!is_current(entries.id) || all_listed_) return;
  const std::uint64_t cost = sync::cost_of(entries);
  for (SyncEntry& entry : entries.entries) {
    if (!sync::is_safe_path(entry.path) || !paths_.insert(entry.path).second ||
        items_.size() >= kMostItems)
      return fail(shown(entry.path) + ": is not a path of a workdir");
    items_.push_back({std::move(entry)});
  }
  unseen_.emplace_back(items_.size(), cost);
  all_listed_ = entries.last;
  look_on();
}

void Stager::look_on() {
  if (looking_ || !active_) return;
  looking_ = true;
  loop_.post([this, turn = turns_] {
    if (turn != turns_) return;
    looking_ = false;
    look_some();
  });
}

void Stager::look_some() {
  if (hashing_) {
    hash_some();
    if (active_) look_on();
    return;
  }
  for (std::size_t i = 0; i < kLooks && next_ < items_.size() && active_ && !hashing_; ++i)
    look_at(static_cast<std::uint32_t>(next_++));
  if (!active_) return;
  while (!unseen_.empty() && unseen_.front().first <= next_ && !hashing_) {
    took(unseen_.front().second);
    unseen_.pop_front();
  }
  if (next_ < items_.size() || hashing_) return look_on();
  if (all_listed_) return find_gone_some();
  tell(false);
}

const SyncEntry* Stager::recorded(const std::string& path) const {
  const auto found = recorded_.find(path);
  return found == recorded_.end() ? nullptr : &found->second;
}

void Stager::look_at(std::uint32_t number) {
  Item& item = items_[number];
  const sync::Found found = tree_.look(item.entry.path);
  const SyncEntry* earlier = recorded(item.entry.path);
  const sync::Decision decision = sync::decide(item.entry, found, earlier);
  item.ours = earlier != nullptr && sync::is_untouched(found, *earlier);
  item.replaces = decision.replaces;
  item.takes_place_of_folder = decision.late;
  item.state = State::settled;
  if (decision.action == Action::send || decision.action == Action::make) {
    if (const int error = check_writable(); error != 0) return fail_before(item, "", error);
  }
  switch (decision.action) {
    case Action::keep:
      break;
    case Action::set_mode:
      static_cast<void>(tree_.set_mode(item.entry));  // a failure is ignored: the content counts
      break;
    case Action::compare:
      return begin_hash(number);
    case Action::send:
      item.state = State::asked;
      item.ours = true;
      wants_.wanted.push_back(number);
      break;
    case Action::make:
      make(item, decision);
      break;
    case Action::refuse:
      item.state = State::unseen;
      return fail(shown(item.entry.path) + ": " + sync::refusal(item.entry, found));
  }
  if (wants_.wanted.size() >= kMostTold) tell(false);
}

void Stager::make(Item& item, const sync::Decision& decision) {
  const std::string& path = item.entry.path;
  item.ours = true;
  if (decision.late) {
    item.state = State::late;
    return;
  }
  // A link replaces an existing entry in one step; before a folder is made, an existing entry must
  // be removed.
  int error = 0;
  if (decision.clear && item.entry.kind == Kind::folder) error = tree_.remove(path, false);
  if (error == 0) {
    error = item.entry.kind == Kind::folder ? tree_.make_folder(path)
                                            : tree_.make_link(path, item.entry.target);
  }
  // Another node that shares this folder may have made it first.
  if (error == EEXIST && item.entry.kind == Kind::folder) error = 0;
  if (error != 0) return fail_before(item, path, error);
  unrecorded_ = true;
  if (item.entry.kind == Kind::folder)
    made_folders_.push_back(static_cast<std::size_t>(&item - items_.data()));
  note_replaced(item);
}

void Stager::begin_hash(std::uint32_t number) {
  items_[number].state = State::asked;
  hashing_.emplace(Hashing{});
  hashing_->item = number;
  hashing_->fd = tree_.open_file(items_[number].entry.path);
  if (!hashing_->fd) end_hash(false);
}

void Stager::hash_some() {
  std::string buffer(kHashBytes, '\0');
  const ssize_t n = ::read(hashing_->fd.get(), buffer.data(), buffer.size());
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) return end_hash(n == 0);
  hashing_->hasher.add({buffer.data(), static_cast<std::size_t>(n)});
  hashing_->done += static_cast<std::uint64_t>(n);
  if (hashing_->done - hashing_->told < kSignOfLife) return;
  hashing_->told = hashing_->done;
  took(0);
}

/// A file that cannot be read here is requested as if it differed.
void Stager::end_hash(bool readable) {
  const std::uint32_t number = hashing_->item;
  if (readable) {
    wants_.contents.push_back({number, hashing_->hasher.hash()});
  } else {
    wants_.wanted.push_back(number);
  }
  hashing_.reset();
  if (wants_.contents.size() >= kMostTold) tell(false);
}

/// Finds paths that an earlier sync wrote, that are unchanged since, and that are no longer among
/// the launcher's entries.
void Stager::find_gone_some() {
  auto at = gone_from_ ? recorded_.upper_bound(*gone_from_) : recorded_.begin();
  for (std::size_t i = 0; i < kLooks && at != recorded_.end(); ++i, ++at) {
    gone_from_ = at->first;
    if (paths_.contains(at->first)) continue;
    if (!sync::is_untouched(tree_.look(at->first), at->second)) continue;
    gone_.insert(at->first);
    wants_.gone.push_back(at->first);
  }
  if (wants_.gone.size() >= kMostTold) tell(false);
  if (at != recorded_.end()) return look_on();
  end_looking();
}

void Stager::end_looking() {
  all_looked_at_ = true;
  if (!has_room()) return;
  save_record();  // in case the launcher dies before the end
  tell(true);
}

bool Stager::has_room() {
  std::uint64_t more = 0;
  std::uint64_t largest = 0;
  for (const Item& item : items_) {
    if (item.state != State::asked || item.entry.kind != Kind::file) continue;
    const sync::Found found = tree_.look(item.entry.path);
    if (found.kind == sync::Found::Kind::file && found.size == item.entry.size) continue;
    more += item.entry.size - std::min(item.entry.size, found.size);
    largest = std::max(largest, item.entry.size);
  }
  const std::uint64_t room = tree_.room();
  if (more == 0 || room >= more) return true;
  fail(shown("") + ": " + errno_text(ENOSPC) + ": " + size_text(more) + " are needed, " +
       size_text(room) + " are free");
  return false;
}

void Stager::tell(bool last) {
  if (!last && wants_.wanted.empty() && wants_.contents.empty() && wants_.gone.empty()) return;
  wants_.last = last;
  send_(std::exchange(wants_, {id_, {}, {}, {}, false}));
}

void Stager::took(std::uint64_t cost) {
  taken_ += cost;
  send_(wire::SyncTaken{id_, taken_});
}

/// Records what this pass has written, and what earlier passes wrote and this one has not removed.
/// An entry that is not replaced yet is recorded as the earlier pass left it.
void Stager::save_record() {
  SyncEntries entries;
  for (const Item& item : items_) {
    const bool is_done = item.state == State::settled || item.state == State::written;
    const SyncEntry* earlier = is_done ? nullptr : recorded(item.entry.path);
    if (earlier != nullptr || item.ours)
      entries.emplace(item.entry.path, earlier != nullptr ? *earlier : item.entry);
  }
  for (const std::string& path : gone_) {
    if (const SyncEntry* earlier = recorded(path)) entries.emplace(path, *earlier);
  }
  for (const auto& [path, earlier] : recorded_) {
    if (!all_looked_at_ && !paths_.contains(path)) entries.emplace(path, earlier);
  }
  if (entries != recorded_ || unrecorded_) record_->save(entries);
  unrecorded_ = false;
}

// ---- contents, removals and the end of a pass

void Stager::note_replaced(const Item& item) {
  if (item.replaces && ++done_.replaced <= kExamples) done_.examples.push_back(item.entry.path);
}

void Stager::on(const wire::SyncSettled& settled) {
  if (!is_current(settled.id)) return;
  for (const std::uint32_t number : settled.same) {
    if (number >= items_.size() || items_[number].state != State::asked) continue;
    Item& item = items_[number];
    item.state = State::settled;
    // On failure the next sync compares the file again.
    if (tree_.set_mode_and_time(item.entry) != 0) keep_as_it_was(item);
    unrecorded_ = true;
  }
  for (const std::uint32_t number : settled.skipped) {
    if (number >= items_.size() || items_[number].state != State::asked) continue;
    if (file_.is_open() && writing_ == number) file_ = {};
    items_[number].state = State::settled;
    keep_as_it_was(items_[number]);
    unrecorded_ = true;
  }
}

void Stager::keep_as_it_was(Item& item) {
  const SyncEntry* earlier = recorded(item.entry.path);
  item.ours = earlier != nullptr;
  if (earlier != nullptr) item.entry = *earlier;
}

void Stager::on(const wire::SyncRemove& remove) {
  if (!is_current(remove.id)) return;
  for (const std::string& path : remove.paths) {
    // Keep a path that was not offered for removal, or that has changed since.
    const SyncEntry* earlier = recorded(path);
    if (earlier == nullptr || gone_.erase(path) == 0) continue;
    if (!sync::is_untouched(tree_.look(path), *earlier)) continue;
    const int error = tree_.remove(path, earlier->kind == SyncEntry::Kind::folder);
    if (error == ENOTEMPTY || error == EEXIST) continue;  // it is no longer empty
    if (error != 0 && error != ENOENT) {
      gone_.insert(path);
      return fail(path, error);
    }
    unrecorded_ = true;
    ++done_.removed;
    recorded_.erase(path);
  }
}

void Stager::on(const wire::SyncData& data) {
  if (!is_current(data.id)) return;
  for (const wire::SyncData::Piece& piece : data.pieces) {
    write(piece);
    if (!active_) return;
  }
  took(sync::cost_of(data));
}

void Stager::write(const wire::SyncData::Piece& piece) {
  const auto nonsense = [&] { fail(shown("") + ": the content of files arrived out of order"); };
  if (piece.entry >= items_.size()) return nonsense();
  Item& item = items_[piece.entry];
  if (item.state != State::asked || item.entry.kind != SyncEntry::Kind::file) return nonsense();
  if (piece.offset == 0) {
    if (const int error = begin_file(piece.entry); error != 0) return fail(item.entry.path, error);
  }
  const bool fits = piece.bytes.size() <= item.entry.size - std::min(written_, item.entry.size);
  if (!file_.is_open() || writing_ != piece.entry || piece.offset != written_ || !fits)
    return nonsense();
  if (const int error = file_.write(piece.bytes); error != 0) return fail(item.entry.path, error);
  written_ += piece.bytes.size();
  if (written_ < item.entry.size) return;
  if (const int error = tree_.finish_file(item.entry, file_); error != 0)
    return fail(item.entry.path, error);
  item.state = State::written;
  unrecorded_ =
      !std::exchange(item.ours, true) || recorded(item.entry.path) != nullptr || unrecorded_;
  note_replaced(item);
}

int Stager::check_writable() {
  const int error = is_writable_ ? 0 : tree_.check_writable();
  is_writable_ = error == 0;
  return error;
}

int Stager::begin_file(std::uint32_t number) {
  const Item& item = items_[number];
  writing_ = number;
  written_ = 0;
  int error = check_writable();
  if (error == 0 && item.takes_place_of_folder) error = tree_.remove(item.entry.path, true);
  return error == 0 || error == ENOENT ? tree_.begin_file(item.entry.path, file_) : error;
}

void Stager::on(const wire::SyncEnd& end) {
  if (!is_current(end.id)) return;
  finish_late_ones();
  if (!active_) return;
  if (unrecorded_) save_record();
  const wire::SyncDone done = std::move(done_);
  abandon();
  send_(done);
}

void Stager::finish_late_ones() {
  for (Item& item : items_) {
    if (item.state == State::asked || item.state == State::unseen)
      return fail(shown(item.entry.path) + ": its content was not sent");
    if (item.state != State::late) continue;
    int error = tree_.remove(item.entry.path, true);
    if (error == 0 || error == ENOENT) error = tree_.make_link(item.entry.path, item.entry.target);
    if (error != 0) return fail(item.entry.path, error);
    item.state = State::written;
    unrecorded_ = true;
  }
  // Modes of folders are set last, because they may forbid even the owner to write.
  while (!made_folders_.empty()) {
    const Item& made = items_[made_folders_.back()];
    made_folders_.pop_back();
    if (const int error = tree_.set_mode(made.entry); error != 0)
      return fail(made.entry.path, error);
  }
}

std::string Stager::shown(const std::string& path) const {
  return path.empty() ? root_ : root_ + '/' + path;
}

/// Call for a failure before the item was changed.
void Stager::fail_before(Item& item, const std::string& path, int error) {
  item.state = State::unseen;
  item.ours = false;
  fail(path, error);
}

void Stager::fail(const std::string& path, int error) {
  fail(shown(path) + ": " + errno_text(error));
}

void Stager::fail(std::string problem) {
  wire::SyncDone done{id_, std::move(problem), 0, 0, {}};
  abandon();
  send_(done);
}

}  // namespace dlaunch
