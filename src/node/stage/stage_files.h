// The files of a staging on a node: finds out what is missing, writes it from blocks that arrive in
// the order of the stream, and reads blocks again for the next node.
//
// A file is written from its beginning to its end into a part beside its place, from blocks and,
// between them, from what was there already: an earlier part, or the file that it replaces. It gets
// its name once its hash equals the launcher's. A part that is not complete stays, and the next
// staging goes on from it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/stage.h"
#include "node/stage/stage_record.h"
#include "node/sync/sync_tree.h"
#include "os/file_hash.h"
#include "os/unique_fd.h"
#include "sync/blocks.h"
#include "sync/pieces.h"
#include "sync/rules.h"

namespace dlaunch {

/// Part of the problem() if a file's hash is not the launcher's.
inline constexpr const char* kFileDiffers = "the written file differs from the source";

/// Lives on the agent's one thread. Each function does at most a few milliseconds of work.
class StageFiles {
 public:
  /// Why the staging cannot go on; no other function may be called then. Empty: it can go on.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  // ---- comparing

  /// `env`: the agent's own. `origins`: one for each root. `by`: who stages, for the records.
  void open(const std::vector<std::string>& roots, const std::vector<StageOrigin>& origins,
            const Environment& env, const std::string& by = {});
  void add(std::vector<StageEntry> entries);
  /// Adds to `wants` what a few more entries lack here. True: it has looked at all added entries.
  [[nodiscard]] bool look_some(std::vector<StageWant>& wants);
  [[nodiscard]] std::uint32_t looked() const { return next_; }

  // ---- the stream

  /// `holds`: all blocks are here, for others.
  void add(const std::vector<BlockRun>& runs, const std::vector<std::uint32_t>& same,
           bool holds = false);
  /// Call it after the last run: checks that the file systems have room for all.
  void check_room();
  /// Call after check_room(). The targets in which this staging will change more than modes and
  /// times.
  [[nodiscard]] std::vector<std::string> changed_targets();
  /// Makes `why` the problem(), so that the staging does not go on.
  void refuse(std::string why) { problem_ = std::move(why); }

  // ---- writing

  /// The blocks come from the machine that has the files: a file that arrives as a whole needs no
  /// set_hash().
  void trust_sender() { trusts_sender_ = true; }
  /// Makes folders, links and empty files, and sets modes and times of what is there. True: done.
  [[nodiscard]] bool make_some();
  void set_hash(std::uint32_t entry, const StrongHash& hash) { hashes_[entry] = hash; }
  void take(const std::vector<sync::Piece>& pieces);
  /// Forgets what take() got and was not written yet.
  void drop_queue();
  /// True: there is more to do at once.
  [[nodiscard]] bool write_some();
  /// Call when is_complete(): makes hard links, removes what is gone from the source, and sets the
  /// modes of folders. True: done.
  [[nodiscard]] bool finish_some();
  /// Files and folders that finish_some() has removed.
  [[nodiscard]] std::uint64_t removed() const;

  [[nodiscard]] bool is_complete() const { return position_ == stream_.size() && !current_; }
  /// Blocks of the stream that are written.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// Grows with all work done, even while position() stays the same.
  [[nodiscard]] std::uint64_t work() const { return work_; }
  /// Bytes, with their headers, that take() got and that are not written yet.
  [[nodiscard]] std::uint64_t queued() const { return queued_; }

  // ---- archives (stage_files_archives.cc), which StageArchives unpacks

  /// Entries that have to be unpacked here; after look_some().
  [[nodiscard]] std::vector<std::uint32_t> archives() const;
  [[nodiscard]] const StageEntry& at(std::uint32_t number) const { return items_[number].at; }
  [[nodiscard]] const std::string& root_of(std::uint32_t number) const {
    return roots_[items_[number].at.root];
  }
  /// The folder that gets the archive's content.
  [[nodiscard]] std::string target_of(std::uint32_t number) const {
    return below(items_[number].at.root, items_[number].at.unpack);
  }
  /// How many bytes of an archive are right, from its beginning on.
  [[nodiscard]] std::uint64_t arrived(std::uint32_t number) const;
  /// All its bytes are right, and so is its hash.
  [[nodiscard]] bool is_whole(std::uint32_t number) const { return items_[number].is_whole; }
  /// Opens it for reading, even while the file is being written. Invalid, with errno: an error.
  [[nodiscard]] UniqueFd open_archive(std::uint32_t number);
  /// Marks the archive as unpacked: its file is then only kept for the next node, until
  /// remove_unpacked().
  void set_unpacked(std::uint32_t number) { items_[number].is_unpacked = true; }
  /// Removes the files of archives that are unpacked. Then no other function may be called.
  void remove_unpacked();

  // ---- for the next node

  /// The file that a reader has read from last.
  struct Reader {
    std::uint32_t entry = 0;
    UniqueFd fd;
  };
  /// Appends the block at `position`, which must be before position(), as a piece. Returns 0 or an
  /// errno.
  [[nodiscard]] int read(std::uint64_t position, Reader& reader, std::string& out);

 private:
  struct Item {
    StageEntry at;
    sync::Decision::Action action = sync::Decision::Action::keep;
    bool is_fetched = false;      // blocks of it are in the stream
    bool is_same = false;         // only mode and time differ
    bool has_part = false;        // of an earlier staging
    std::uint64_t part_room = 0;  // that the part takes on the disk
    bool is_apart = false;      // must become a file of its own, not another name of the one found
    bool is_linked = false;     // is a name of the same file as Names::holder
    bool is_whole = false;      // after making: its file is complete
    bool is_unpacked = false;   // an archive whose content is here
    bool was_unpacked = false;  // before this staging: its file only passes on what others need
  };
  /// The names (hard links) of one file.
  struct Names {
    std::uint32_t holder = 0;              // the entry whose file here has the content
    std::vector<std::uint32_t> further{};  // entries, without the one that stands for the content
    std::optional<std::uint32_t> copy{};   // made last because a link was refused
  };
  /// What a file is made from besides the blocks that arrive.
  struct Basis {
    UniqueFd part;
    std::uint64_t part_size = 0;
    UniqueFd old;
    std::uint64_t old_size = 0;
    /// The descriptor of the file that has these bytes; -1: none has.
    [[nodiscard]] int holder_of(std::uint64_t offset, std::uint64_t size) const;
  };
  struct Hashing {
    std::uint32_t entry = 0;
    std::uint64_t done = 0;
    Basis basis;
  };
  struct Current {
    std::uint32_t entry = 0;
    Basis basis;
    std::uint64_t done = 0;  // bytes that are right, from the beginning on
    bool is_hashed = true;
    FileHasher hasher;
  };
  struct Queued {
    std::uint64_t block = 0;
    std::uint64_t hash = 0;
    std::string bytes;
  };

  [[nodiscard]] SyncTree& tree_of(const Item& item) { return trees_[item.at.root]; }
  [[nodiscard]] const SyncEntry& entry_of(std::uint32_t number) const {
    return items_[number].at.entry;
  }
  void look_at(std::uint32_t number, std::vector<StageWant>& wants);
  void look_at_target(Item& item);
  [[nodiscard]] bool is_only_passed_on(const Item& item) const {
    return is_source_[item.at.root] || item.was_unpacked;
  }
  void hash_some(std::vector<StageWant>& wants);
  [[nodiscard]] bool open_basis(const Item& item, bool make, Basis& basis);
  // stage_files_names.cc
  [[nodiscard]] std::uint32_t number_of(const Item& item) const {
    return static_cast<std::uint32_t>(&item - items_.data());
  }
  void add_name(std::uint32_t number);
  void look_at_names(Item& item, const sync::Found& found);
  [[nodiscard]] std::uint32_t content_holder(std::uint32_t number) const;
  [[nodiscard]] bool needs_link(const Item& item) const;
  [[nodiscard]] bool link_some();
  void link(std::uint32_t number);
  // stage_files_records.cc
  [[nodiscard]] bool is_written(const Item& item) const;
  [[nodiscard]] bool is_changed(const Item& item) const;
  void fill_records();
  void save_records();
  void make(std::uint32_t number);
  void begin_file();
  [[nodiscard]] std::uint64_t gap_end() const;
  void copy_gap(std::uint64_t end);
  void write_block();
  void end_file();
  [[nodiscard]] std::string shown(const Item& item) const {
    return below(item.at.root, item.at.entry.path);
  }
  [[nodiscard]] std::string below(std::uint32_t root, const std::string& path) const {
    return roots_[root] + (roots_[root].ends_with('/') ? "" : "/") + path;
  }
  void fail(const Item& item, int error);

  std::string problem_;
  std::vector<std::string> roots_;
  std::vector<StageOrigin> origins_;  // by root
  std::string by_;
  std::vector<bool> made_;       // by root: the folder was not there
  std::vector<SyncTree> trees_;  // by root
  std::vector<int> errors_;  // by root: why it cannot be opened; reported if anything goes there
  std::vector<std::optional<StageRecord>> records_;  // by root
  std::vector<bool> is_source_;  // by root: the launcher's own folder, never written to
  std::vector<Item> items_;
  std::map<std::uint32_t, Names> names_;  // by the entry that stands for the content
  // By root, device and inode of a file here that has several names: its entry, as for names_.
  std::map<std::array<std::uint64_t, 3>, std::uint32_t> owners_;
  std::vector<std::uint32_t> to_link_;
  sync::BlockMap map_;
  std::uint32_t next_ = 0;  // item to look at, then to make
  std::optional<Hashing> hashing_;
  sync::BlockStream stream_;
  std::vector<std::uint32_t> made_folders_;
  std::map<std::uint32_t, StrongHash> hashes_;
  bool trusts_sender_ = false;
  std::deque<Queued> queue_;
  std::uint64_t queued_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t work_ = 0;
  std::vector<std::uint64_t> block_hashes_;  // by position, of blocks that have arrived
  std::optional<Current> current_;
};

}  // namespace dlaunch
