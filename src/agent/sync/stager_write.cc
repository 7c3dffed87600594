// What the stager does when it has looked at everything: contents, removals, the end of a pass.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "agent/sync/stager.h"
#include "sync/rules.h"

namespace dlaunch {

namespace {

constexpr std::size_t kExamples = 3;

}  // namespace

void Stager::note_replaced(const Item& item) {
  if (item.replaces && ++done_.replaced <= kExamples) done_.examples.push_back(item.entry.path);
}

void Stager::on(const wire::SyncSettled& settled) {
  if (!is_current(settled.id)) return;
  for (const std::uint32_t number : settled.same) {
    if (number >= items_.size() || items_[number].state != State::asked) continue;
    Item& item = items_[number];
    item.state = State::settled;
    // Else it is compared again next time.
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
    // What was not offered, or has changed since, stays.
    const SyncEntry* earlier = recorded(path);
    if (earlier == nullptr || gone_.erase(path) == 0) continue;
    if (!sync::is_untouched(tree_.look(path), *earlier)) continue;
    const int error = tree_.remove(path, earlier->kind == SyncEntry::Kind::folder);
    if (error == ENOTEMPTY || error == EEXIST) continue;  // somebody has put something into it
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
  const auto nonsense = [&] { fail(shown("") + ": the content of files came out of order"); };
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
      return fail(shown(item.entry.path) + ": its content did not come");
    if (item.state != State::late) continue;
    int error = tree_.remove(item.entry.path, true);
    if (error == 0 || error == ENOENT) error = tree_.make_link(item.entry.path, item.entry.target);
    if (error != 0) return fail(item.entry.path, error);
    item.state = State::written;
    unrecorded_ = true;
  }
  // Last: a folder may be one that not even its owner may write to.
  while (!made_folders_.empty()) {
    const Item& made = items_[made_folders_.back()];
    made_folders_.pop_back();
    if (const int error = tree_.set_mode(made.entry); error != 0)
      return fail(made.entry.path, error);
  }
}

}  // namespace dlaunch
