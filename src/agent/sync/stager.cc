#include "agent/sync/stager.h"

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

// Work of one turn of the loop: some milliseconds.
constexpr std::size_t kLooks = 256;
constexpr std::size_t kHashBytes = std::size_t{1} << 20;
constexpr std::uint64_t kSignOfLife = std::uint64_t{64} << 20;
constexpr std::size_t kMostTold = 512;  // items in one SyncWants
constexpr std::size_t kMostItems = 2'000'000;

}  // namespace

void Stager::abandon() {
  // Else what was replaced so far would be nobody's by what the record says.
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
  if (!root_.starts_with('/')) return fail(shown("") + ": is no absolute path");
  const bool is_marker = begin.marker.starts_with(sync::kMarkerPrefix);
  if (is_marker && tree_.open(root_, false) == 0 && tree_.has(begin.marker)) {
    abandon();
    return send_(wire::SyncPlace{begin.id, true});
  }
  int error = tree_.open(root_, true);
  // Without a marker the launcher cannot write to its own folder, and this may be the same one:
  // then that counts only where something is to be written.
  if (error == 0 && is_marker) error = check_writable();
  if (error != 0) return fail("", error);
  record_.emplace(env_, root_, begin.origin);
  recorded_ = record_->load();
  send_(wire::SyncPlace{id_, false});
}

void Stager::on(wire::SyncEntries& entries) {
  if (!is_current(entries.id) || all_listed_) return;
  const std::uint64_t cost = sync::cost_of(entries);
  for (SyncEntry& entry : entries.entries) {
    if (!sync::is_safe_path(entry.path) || !paths_.insert(entry.path).second ||
        items_.size() >= kMostItems)
      return fail(shown(entry.path) + ": is no path of a workdir");
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
      static_cast<void>(tree_.set_mode(item.entry));  // not ours to change: the content counts
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
  // A link is replaced in one step; what is to become a folder has to go first.
  int error = 0;
  if (decision.clear && item.entry.kind == Kind::folder) error = tree_.remove(path, false);
  if (error == 0) {
    error = item.entry.kind == Kind::folder ? tree_.make_folder(path)
                                            : tree_.make_link(path, item.entry.target);
  }
  // Another node that shares this folder may have been quicker.
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

/// A file that cannot be read here is asked for as one that is different.
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

/// What an earlier sync has put here, is as that has left it, and is not among the entries.
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
  save_record();  // should the launcher go away in the middle, it is known what is ours
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

/// What is ours of this pass, and what earlier ones have left and nobody has asked to remove. Until
/// something is replaced, what is there is that of the earlier pass.
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

std::string Stager::shown(const std::string& path) const {
  return path.empty() ? root_ : root_ + '/' + path;
}

/// What the item is about is as it was.
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
