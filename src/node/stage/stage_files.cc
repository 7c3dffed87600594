#include "node/stage/stage_files.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "model/result.h"
#include "os/content_hash.h"
#include "os/sparse_file.h"
#include "os/write_all.h"

namespace dlaunch {

namespace {

using Action = sync::Decision::Action;
using Kind = SyncEntry::Kind;

// Limits for one turn of the loop.
constexpr std::size_t kLooks = 256;
constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
constexpr std::size_t kMostItems = 2'000'000;
constexpr std::uint32_t kOwner = 0700;

/// Returns 0 or an errno; EIO if there are fewer bytes.
int read_exactly(int fd, std::uint64_t offset, std::uint64_t size, std::string& bytes) {
  bytes.resize(size);
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t n =
        ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    done += static_cast<std::uint64_t>(n);
  }
  return 0;
}

std::uint64_t size_of(const UniqueFd& fd) {
  struct stat info {};
  return fd && ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode)
             ? static_cast<std::uint64_t>(info.st_size)
             : 0;
}

/// Bytes that a file takes on the disk.
std::uint64_t room_of(const UniqueFd& fd) {
  constexpr std::uint64_t kStatBlock = 512;
  struct stat info {};
  return fd && ::fstat(fd.get(), &info) == 0
             ? static_cast<std::uint64_t>(info.st_blocks) * kStatBlock
             : 0;
}

/// Sets the folder's mode at once, because a staging may be interrupted, but keeps it writable.
int make_folder(SyncTree& tree, SyncEntry folder) {
  const int error = tree.make_folder(folder.path);
  if (error != 0) return error == EEXIST ? 0 : error;
  folder.mode |= kOwner;
  return tree.set_mode(folder);
}

bool is_source(const StageOrigin& origin) {
  struct stat info {};
  return !origin.marker.empty() && ::lstat(origin.marker.c_str(), &info) == 0;
}

}  // namespace

int StageFiles::Basis::holder_of(std::uint64_t offset, std::uint64_t size) const {
  if (offset + size <= part_size) return part.get();
  return offset + size <= old_size ? old.get() : -1;
}

// ---- comparing

void StageFiles::open(const std::vector<std::string>& roots,
                      const std::vector<StageOrigin>& origins, const Environment& env,
                      const std::string& by) {
  roots_ = roots;
  origins_ = origins;
  origins_.resize(roots.size());
  by_ = by;
  records_.resize(roots.size());
  for (const StageOrigin& origin : origins_) is_source_.push_back(is_source(origin));
  trees_.resize(roots.size());
  for (std::size_t i = 0; i < roots.size() && problem_.empty(); ++i) {
    if (!roots[i].starts_with('/')) {
      problem_ = roots[i] + ": is not an absolute path";
    } else {
      made_.push_back(trees_[i].open(roots[i], false) == ENOENT);
      errors_.push_back(trees_[i].open(roots[i], true));
      const bool is_recorded = !origins_[i].name.empty() && !is_source_[i];
      if (errors_.back() == 0 && is_recorded) records_[i].emplace(env, roots[i], origins_[i]);
    }
  }
}

void StageFiles::add(std::vector<StageEntry> entries) {
  for (StageEntry& entry : entries) {
    const bool is_target_safe =
        entry.unpack.empty() ||
        (sync::is_safe_path(entry.unpack) && entry.unpack.find('/') == std::string::npos);
    if (entry.root >= trees_.size() || !sync::is_safe_path(entry.entry.path) || !is_target_safe ||
        items_.size() >= kMostItems) {
      problem_ = entry.entry.path + ": is not a path below what is staged";
      return;
    }
    map_.add(sync::content_of(entry));
    items_.push_back({std::move(entry)});
    add_name(static_cast<std::uint32_t>(items_.size() - 1));
    if (!problem_.empty()) return;
  }
}

bool StageFiles::look_some(std::vector<StageWant>& wants) {
  if (hashing_) {
    hash_some(wants);
    return false;
  }
  for (std::size_t i = 0; i < kLooks && next_ < items_.size() && !hashing_ && problem_.empty(); ++i)
    look_at(next_++, wants);
  ++work_;
  return next_ == items_.size() && !hashing_;
}

void StageFiles::look_at(std::uint32_t number, std::vector<StageWant>& wants) {
  Item& item = items_[number];
  if (is_source_[item.at.root]) return;  // the source stays as it is
  const SyncEntry& entry = item.at.entry;
  const bool is_open = errors_[item.at.root] == 0;
  if (is_open && !item.at.unpack.empty()) {
    look_at_target(item);
    if (item.was_unpacked || !problem_.empty()) return;
  }
  const sync::Found found = is_open ? tree_of(item).look(entry.path) : sync::Found();
  item.action = sync::decide(entry, found, nullptr).action;
  if (item.action == Action::refuse) {
    problem_ = shown(item) + ": " + sync::refusal(entry, found);
    return;
  }
  look_at_names(item, found);
  if (item.at.content_after > 0 || content_holder(number) != number) return;
  if (item.action == Action::send || item.action == Action::compare) {
    if (entry.size == 0) {
      item.action = Action::make;
      return;
    }
    wants.push_back({number, {}});
    Hashing hashing{number, 0, {}};
    if (!is_open || !open_basis(item, false, hashing.basis)) return;
    item.has_part = hashing.basis.part.valid();
    item.part_room = room_of(hashing.basis.part);
    if (hashing.basis.part || hashing.basis.old) hashing_ = std::move(hashing);
  }
}

bool StageFiles::open_basis(const Item& item, bool make, Basis& basis) {
  const std::string& path = item.at.entry.path;
  const int error = tree_of(item).open_part(path, make, basis.part);
  if (error == EWOULDBLOCK) {
    problem_ =
        shown(item) +
        ": another staging writes it: that of another run, or of another node that shares the "
        "folder";
    return false;
  }
  if (error != 0 && (make || (error != ENOENT && error != ENOTDIR))) {
    fail(item, error);
    return false;
  }
  // A part that was not compared has unknown content.
  if (make && !item.has_part && ::ftruncate(basis.part.get(), 0) != 0) {
    fail(item, errno);
    return false;
  }
  basis.part_size = size_of(basis.part);
  basis.old = tree_of(item).open_file(entry_of(content_holder(number_of(item))).path);
  basis.old_size = size_of(basis.old);
  return true;
}

void StageFiles::hash_some(std::vector<StageWant>& wants) {
  const std::uint64_t size = entry_of(hashing_->entry).size;
  if (wants.empty() || wants.back().entry != hashing_->entry)
    wants.push_back({hashing_->entry, {}});
  std::string bytes;
  for (std::uint64_t budget = kBytes; budget > 0; budget -= std::min(budget, sync::kBlockBytes)) {
    const std::uint64_t length = std::min(sync::kBlockBytes, size - hashing_->done);
    const int fd = hashing_->basis.holder_of(hashing_->done, length);
    // A block that cannot be read here is requested, and so are all blocks after it.
    if (fd < 0 || read_exactly(fd, hashing_->done, length, bytes) != 0) return hashing_.reset();
    hashing_->done += length;
    work_ += length;
    // A complete part must still become the file, a longer file must still be cut, and another
    // name of a file must get its own. All this happens after the last block, so it is requested.
    const bool is_last = hashing_->done == size;
    const bool is_the_file = !hashing_->basis.part && hashing_->basis.old_size == size &&
                             !items_[hashing_->entry].is_apart;
    if (!is_last || is_the_file) wants.back().hashes.push_back(block_hash(bytes));
    if (is_last) return hashing_.reset();
  }
}

// ---- the stream

void StageFiles::add(const std::vector<BlockRun>& runs, const std::vector<std::uint32_t>& same,
                     bool holds) {
  for (const BlockRun& run : runs) {
    if (!stream_.add(run, map_.total())) {
      problem_ = "blocks were announced out of order";
      return;
    }
    if (holds) continue;
    const std::uint32_t last = map_.place_of(run.first + run.count - 1).entry;
    for (std::uint32_t i = map_.place_of(run.first).entry; i <= last; ++i)
      items_[i].is_fetched = map_.first_of(i) < map_.end_of(i) || items_[i].is_fetched;
  }
  for (const std::uint32_t number : same) {
    if (number < items_.size()) items_[number].is_same = true;
  }
  if (holds) position_ = stream_.size();
}

// ---- writing

bool StageFiles::make_some() {
  if (next_ == 0) save_records();
  for (std::size_t i = 0; i < kLooks && next_ < items_.size() && problem_.empty(); ++i)
    make(next_++);
  ++work_;
  return next_ == items_.size();
}

void StageFiles::make(std::uint32_t number) {
  Item& item = items_[number];
  const SyncEntry& entry = item.at.entry;
  SyncTree& tree = tree_of(item);
  item.is_whole = !item.is_fetched;
  if (needs_link(item)) return to_link_.push_back(number);
  // A further name that is linked already needs nothing, but it may be the one that is here.
  const bool is_linked = item.at.content_after > 0 && item.action != Action::set_mode;
  if (item.is_fetched || item.action == Action::keep || is_linked) return;
  // A failure is ignored, as in a sync, because the content counts.
  if (item.action == Action::set_mode) return static_cast<void>(tree.set_mode(entry));
  if (item.is_same) return static_cast<void>(tree.set_mode_and_time(entry));
  if (item.action != Action::make) {
    problem_ = shown(item) + ": its content was not sent";
    return;
  }
  int error = 0;
  if (entry.kind == Kind::folder) {
    error = make_folder(tree, entry);
    // The folder's own mode is set last, because the mode may forbid even the owner to write.
    if ((entry.mode & kOwner) != kOwner) made_folders_.push_back(number);
  } else if (entry.kind == Kind::link) {
    error = tree.make_link(entry.path, entry.target);
  } else {
    SyncTree::NewFile empty;
    error = tree.begin_file(entry.path, empty);
    if (error == 0) error = tree.finish_file(entry, empty);
  }
  if (error != 0) fail(item, error);
}

void StageFiles::take(const std::vector<sync::Piece>& pieces) {
  for (const sync::Piece& piece : pieces) {
    queue_.push_back({piece.block, piece.hash, std::string(piece.bytes)});
    queued_ += sync::kPieceHeader + piece.bytes.size();
  }
}

void StageFiles::drop_queue() {
  queue_.clear();
  queued_ = 0;
}

bool StageFiles::write_some() {
  for (std::uint64_t budget = kBytes; budget > 0 && problem_.empty();
       budget -= std::min(budget, sync::kBlockBytes)) {
    if (!current_ && position_ == stream_.size()) return false;
    if (!current_) begin_file();
    if (!problem_.empty()) return false;
    const std::uint64_t end = gap_end();
    if (current_->done < end) {
      copy_gap(end);
    } else if (end == entry_of(current_->entry).size) {
      if (current_->is_hashed && !hashes_.contains(current_->entry)) return false;
      end_file();
    } else if (!queue_.empty()) {
      write_block();
    } else {
      return false;
    }
  }
  return problem_.empty();
}

void StageFiles::begin_file() {
  Current current;
  current.entry = map_.place_of(stream_.at(position_)).entry;
  current.is_hashed =
      !trusts_sender_ || !stream_.has(map_.first_of(current.entry), map_.end_of(current.entry));
  if (is_source_[items_[current.entry].at.root] ||
      open_basis(items_[current.entry], true, current.basis))
    current_ = std::move(current);
}

/// Where the next block that arrives belongs in the current file, or the file's end.
std::uint64_t StageFiles::gap_end() const {
  if (position_ < stream_.size()) {
    const auto place = map_.place_of(stream_.at(position_));
    if (place.entry == current_->entry) return place.offset;
  }
  return entry_of(current_->entry).size;
}

void StageFiles::copy_gap(std::uint64_t end) {
  const Item& item = items_[current_->entry];
  const std::uint64_t size = std::min(sync::kBlockBytes, end - current_->done);
  if (is_only_passed_on(item)) return static_cast<void>(current_->done += size);
  const int from = current_->basis.holder_of(current_->done, size);
  std::string bytes;
  int error = from < 0 ? EIO : read_exactly(from, current_->done, size, bytes);
  const int part = current_->basis.part.get();
  if (error == 0 && from != part)
    error = sync::is_zeros(bytes) ? make_hole(part, current_->done, size)
                                  : write_all_at(part, current_->done, bytes);
  if (error != 0) return fail(item, error);
  if (current_->is_hashed) current_->hasher.add(bytes);
  current_->done += size;
  work_ += size;
}

void StageFiles::write_block() {
  const Item& item = items_[current_->entry];
  const Queued& next = queue_.front();
  const auto place = map_.place_of(stream_.at(position_));
  const std::string zeros(next.bytes.empty() ? place.size : 0, '\0');
  const std::string& bytes = next.bytes.empty() ? zeros : next.bytes;
  if (next.block != stream_.at(position_) || bytes.size() != place.size) {
    problem_ = shown(item) + ": its blocks arrived out of order";
    return;
  }
  if (block_hash(bytes) != next.hash) {
    problem_ = shown(item) + ": a block of it arrived damaged";
    return;
  }
  const int part = current_->basis.part.get();
  int error = 0;
  if (!is_source_[item.at.root])
    error = next.bytes.empty() ? make_hole(part, place.offset, place.size)
                               : write_all_at(part, place.offset, bytes);
  if (error != 0) return fail(item, error);
  if (current_->is_hashed) current_->hasher.add(bytes);
  current_->done += place.size;
  block_hashes_.push_back(next.hash);
  ++position_;
  queued_ -= sync::kPieceHeader + next.bytes.size();
  queue_.pop_front();
}

void StageFiles::end_file() {
  Item& item = items_[current_->entry];
  Current current = std::move(*current_);
  current_.reset();
  if (is_source_[item.at.root]) return;
  if (!item.was_unpacked && current.is_hashed && current.hasher.hash() != hashes_[current.entry]) {
    static_cast<void>(tree_of(item).remove_part(item.at.entry.path));
    problem_ = shown(item) + ": " + kFileDiffers +
               ": the source changed meanwhile, or the disk or the memory of a node that passed it "
               "on is damaged";
    return;
  }
  const auto size = static_cast<off_t>(item.at.entry.size);
  int error = ::ftruncate(current.basis.part.get(), size) == 0 ? 0 : errno;
  SyncEntry entry = item.at.entry;
  // A wrong time, so that the file is not mistaken for the archive later.
  if (item.was_unpacked) entry.mtime = entry.mtime == 0 ? 1 : 0;
  if (error == 0) error = tree_of(item).finish_part(entry, current.basis.part);
  item.is_whole = error == 0;
  if (error != 0) fail(item, error);
}

bool StageFiles::finish_some() {
  ++work_;
  if (!link_some()) return !problem_.empty();
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i] && !records_[i]->remove_some(trees_[i])) return false;
  }
  for (std::size_t i = 0; i < kLooks && !made_folders_.empty() && problem_.empty(); ++i) {
    const Item& made = items_[made_folders_.back()];
    made_folders_.pop_back();
    if (const int error = tree_of(made).set_mode(made.at.entry); error != 0) fail(made, error);
  }
  return made_folders_.empty();
}

// ---- for the next node

int StageFiles::read(std::uint64_t position, Reader& reader, std::string& out) {
  const auto place = map_.place_of(stream_.at(position));
  int fd = -1;
  if (current_ && current_->entry == place.entry && current_->basis.part) {
    fd = current_->basis.part.get();
  } else {
    if (!reader.fd || reader.entry != place.entry) {
      // What has not arrived was here before.
      const std::uint32_t from =
          position < block_hashes_.size() ? place.entry : content_holder(place.entry);
      reader = {place.entry, tree_of(items_[from]).open_file(entry_of(from).path)};
      if (!reader.fd) return errno;
    }
    fd = reader.fd.get();
  }
  std::string bytes;
  const int error = read_exactly(fd, place.offset, place.size, bytes);
  if (error != 0) return error;
  const std::uint64_t hash =
      position < block_hashes_.size() ? block_hashes_[position] : block_hash(bytes);
  sync::append_piece({stream_.at(position), hash, bytes}, out);
  return 0;
}

void StageFiles::fail(const Item& item, int error) {
  problem_ = shown(item) + ": " + errno_text(error);
}

}  // namespace dlaunch
