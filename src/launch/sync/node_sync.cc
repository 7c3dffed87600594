#include "launch/sync/node_sync.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>

#include "model/result.h"
#include "sync/rules.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::uint64_t kLargestMessage = 64 * 1024;  // larger ones cause page faults and save no time
constexpr std::size_t kMostRemovals = 256;            // in one message; each costs an lstat(2)
constexpr std::size_t kMostSettled = 1024;
constexpr std::size_t kMostExamples = 3;
constexpr std::size_t kMostGone = 1'000'000;

std::uint64_t message_size(const sync::Window& window) {
  return std::min(kLargestMessage, window.piece());
}

}  // namespace

void NodeSync::begin(const SyncPass& pass, const std::string& marker, const std::string& origin,
                     const Send& send) {
  stage_ = Stage::placing;
  window_.restart();
  next_entry_ = 0;
  asked_.assign(pass.entries.size(), false);
  wanted_.clear();
  contents_.clear();
  gone_.clear();
  settled_ = {};
  file_.close();
  send(wire::SyncBegin{pass.id, pass.root, marker, origin});
}

void NodeSync::place_is_good() {
  if (stage_ == Stage::placed) stage_ = Stage::listing;
}

void NodeSync::on(const wire::SyncAnswer& message, const SyncPass& pass, MonotonicTime now) {
  heard_at_ = now;
  std::visit(
      [&](const auto& one) {
        if (one.id == pass.id) hear(one, pass);
      },
      message);
}

void NodeSync::hear(const wire::SyncFolder& folder, const SyncPass&) {
  if (stage_ != Stage::placing) return;
  stage_ = folder.is_shared ? Stage::ended : Stage::placed;
  result_.is_shared = folder.is_shared;
}

/// An agent that names an unknown entry is faulty, and gets nothing for it.
void NodeSync::hear(const wire::SyncWants& wants, const SyncPass& pass) {
  if (stage_ != Stage::listing && stage_ != Stage::looking) return;
  for (const std::uint32_t entry : wants.wanted) {
    if (is_first_question(entry, pass)) want(entry, pass);
  }
  for (const auto& content : wants.contents) {
    if (is_first_question(content.entry, pass)) contents_.push_back(content);
  }
  for (const std::string& path : wants.gone) {
    if (sync::is_safe_path(path) && gone_.size() < kMostGone) gone_.insert(path);
  }
  if (wants.last && stage_ == Stage::looking) stage_ = Stage::moving;
}

bool NodeSync::is_first_question(std::uint32_t entry, const SyncPass& pass) {
  if (entry >= next_entry_ || pass.entries[entry].kind != SyncEntry::Kind::file) return false;
  if (asked_[entry]) return false;
  asked_[entry] = true;
  return true;
}

void NodeSync::want(std::uint32_t entry, const SyncPass& pass) {
  wanted_.push_back(entry);
  wanted_bytes_ += pass.entries[entry].size;
}

void NodeSync::hear(const wire::SyncTaken& taken, const SyncPass&) {
  window_.taken(taken.up_to, heard_at_);
}

void NodeSync::hear(const wire::SyncDone& done, const SyncPass&) {
  if (stage_ == Stage::ended) return;
  const bool expected = stage_ == Stage::ending;
  stage_ = Stage::ended;
  file_.close();
  problem_ = plain_line(done.problem);
  if (problem_.empty() && !expected) problem_ = "its agent ended the sync before it was complete";
  result_.removed += done.removed;
  result_.replaced += done.replaced;
  for (const std::string& example : done.examples) {
    if (result_.examples.size() < kMostExamples) result_.examples.push_back(plain_line(example));
  }
}

bool NodeSync::step(SyncPass& pass, MonotonicTime now, const Send& send) {
  if (stage_ == Stage::listing) {
    if (window_.open()) send_entries(pass, now, send);
    return stage_ == Stage::listing && window_.open();
  }
  if (stage_ != Stage::moving) return false;
  if (send_removals(pass, send)) return true;
  settle_contents(pass);
  const bool sent = window_.open() && send_data(pass, now, send);
  const bool all_moved = wanted_.empty() && contents_.empty();
  if (!settled_.same.empty() || !settled_.skipped.empty()) {
    settled_.id = pass.id;
    send(std::exchange(settled_, {}));
  }
  if (!all_moved) return sent;
  stage_ = Stage::ending;
  send(wire::SyncEnd{pass.id});
  return false;
}

void NodeSync::send_entries(const SyncPass& pass, MonotonicTime now, const Send& send) {
  wire::SyncEntries message;
  message.id = pass.id;
  for (std::uint64_t cost = 0; next_entry_ < pass.entries.size() && cost < message_size(window_);) {
    const SyncEntry& entry = pass.entries[next_entry_++];
    cost += sync::cost_of(entry);
    message.entries.push_back(entry);
  }
  message.last = next_entry_ == pass.entries.size();
  window_.sent(sync::cost_of(message), now);
  if (message.last) stage_ = Stage::looking;
  send(message);
}

/// What still exists here but is not in the list stays on the node, too.
bool NodeSync::send_removals(const SyncPass& pass, const Send& send) {
  if (!pass.removes) gone_.clear();
  if (gone_.empty()) return false;
  wire::SyncRemove message{pass.id, {}};
  for (std::size_t i = 0; i < kMostRemovals && !gone_.empty(); ++i) {
    std::string path = std::move(gone_.extract(gone_.begin()).value());
    struct stat info {};
    const bool is_here = ::lstat((pass.root + '/' + path).c_str(), &info) == 0;
    if (!is_here && (errno == ENOENT || errno == ENOTDIR)) message.paths.push_back(std::move(path));
  }
  if (!message.paths.empty()) send(message);
  return true;
}

void NodeSync::settle_contents(SyncPass& pass) {
  while (!contents_.empty() && settled_.same.size() < kMostSettled) {
    const wire::SyncWants::Content& content = contents_.front();
    const auto known = pass.hashes.find(content.entry);
    if (known == pass.hashes.end()) {
      pass.to_hash.push_back(content.entry);
      return;
    }
    if (!known->second) {
      settled_.skipped.push_back(content.entry);
    } else if (*known->second == content.hash) {
      settled_.same.push_back(content.entry);
    } else {
      want(content.entry, pass);
    }
    contents_.pop_front();
  }
}

bool NodeSync::send_data(SyncPass& pass, MonotonicTime now, const Send& send) {
  wire::SyncData data;
  data.id = pass.id;
  const std::uint64_t most = message_size(window_);
  for (std::uint64_t cost = 0; cost < most && !wanted_.empty(); cost = sync::cost_of(data)) {
    if (!add_piece(pass, most - cost, data)) break;
  }
  if (data.pieces.empty()) return !wanted_.empty() && pass.problem.empty();
  window_.sent(sync::cost_of(data), now);
  send(data);
  return true;
}

/// Sends a part of the first wanted file. False: nothing more can be sent now.
bool NodeSync::add_piece(SyncPass& pass, std::uint64_t room, wire::SyncData& data) {
  const SyncEntry& entry = pass.entries[wanted_.front()];
  auto outcome = EntryFile::Outcome::good;
  if (!file_.is_open()) outcome = file_.open(pass.root, entry, pass.samples_of(wanted_.front()));
  wire::SyncData::Piece piece{wanted_.front(), file_.offset(), {}};
  if (outcome == EntryFile::Outcome::good) outcome = file_.read(room, piece.bytes);
  if (outcome != EntryFile::Outcome::good) {
    skip(pass, outcome);
    return outcome == EntryFile::Outcome::changed;
  }
  result_.bytes += piece.bytes.size();
  data.pieces.push_back(std::move(piece));
  if (!file_.at_end()) return true;
  ++result_.files;
  file_.close();
  wanted_.pop_front();
  return true;
}

void NodeSync::skip(SyncPass& pass, EntryFile::Outcome outcome) {
  const std::uint32_t entry = wanted_.front();
  const std::string& path = pass.entries[entry].path;
  if (outcome == EntryFile::Outcome::changed) {
    pass.changed.insert(path);
  } else {
    pass.problem = plain_line(pass.root + '/' + path) + ": " + errno_text(file_.error());
  }
  settled_.skipped.push_back(entry);
  file_.close();
  wanted_.pop_front();
}

}  // namespace dlaunch
