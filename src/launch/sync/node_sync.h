// One pass of a sync with one node: its answers, and what to send next.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "model/sync.h"
#include "model/time.h"
#include "node/sync/entry_file.h"
#include "sync/window.h"
#include "wire/message.h"

namespace dlaunch {

/// What all nodes of a pass share.
struct SyncPass {
  std::uint32_t id = 0;
  std::string root;
  std::vector<SyncEntry> entries;
  /// By entry, for files that may grow while they are copied: see EntryFile.
  std::map<std::uint32_t, ContentHash> samples;
  /// Hashes of content here, as they become known; nullopt: the content has changed since the list.
  std::map<std::uint32_t, std::optional<ContentHash>> hashes;
  std::deque<std::uint32_t> to_hash;
  bool removes = true;            // WorkdirSyncSettings::removes
  std::set<std::string> changed;  // paths whose content has changed since the list
  std::string problem;            // here, not on a node

  [[nodiscard]] const ContentHash* samples_of(std::uint32_t entry) const {
    const auto found = samples.find(entry);
    return found == samples.end() ? nullptr : &found->second;
  }
};

/// Lives on the engine's one thread.
class NodeSync {
 public:
  using Send = std::function<void(const wire::ToAgent&)>;

  NodeSync(NodeId node, std::string name, sync::Window window)
      : window_(std::move(window)), result_{node, std::move(name)} {}

  /// Begins a new pass; the counts continue.
  void begin(const SyncPass& pass, const std::string& marker, const std::string& origin,
             const Send& send);
  /// All nodes have answered SyncBegin: entries may be sent.
  void place_is_good();
  void on(const wire::SyncAnswer& message, const SyncPass& pass, MonotonicTime now);
  /// Sends at most two messages. True: there may be more to send at once.
  bool step(SyncPass& pass, MonotonicTime now, const Send& send);

  [[nodiscard]] bool placed() const { return stage_ != Stage::placing; }
  [[nodiscard]] bool ended() const { return stage_ == Stage::ended; }
  /// What failed on the node; then its sync has ended.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const SyncedNode& result() const { return result_; }
  /// Bytes of content that the node lacked, as far as known.
  [[nodiscard]] std::uint64_t wanted_bytes() const { return wanted_bytes_; }
  [[nodiscard]] MonotonicTime heard_at() const { return heard_at_; }

 private:
  enum class Stage : std::uint8_t { placing, placed, listing, looking, moving, ending, ended };

  void hear(const wire::SyncFolder& folder, const SyncPass&);
  void hear(const wire::SyncWants& wants, const SyncPass& pass);
  void hear(const wire::SyncTaken& taken, const SyncPass&);
  void hear(const wire::SyncDone& done, const SyncPass&);
  void send_entries(const SyncPass& pass, MonotonicTime now, const Send& send);
  bool send_removals(const SyncPass& pass, const Send& send);
  void settle_contents(SyncPass& pass);
  [[nodiscard]] bool is_first_question(std::uint32_t entry, const SyncPass& pass);
  void want(std::uint32_t entry, const SyncPass& pass);
  bool send_data(SyncPass& pass, MonotonicTime now, const Send& send);
  bool add_piece(SyncPass& pass, std::uint64_t room, wire::SyncData& data);
  void skip(SyncPass& pass, EntryFile::Outcome outcome);

  sync::Window window_;
  SyncedNode result_;
  Stage stage_ = Stage::placing;
  std::string problem_;
  MonotonicTime heard_at_{0};
  std::size_t next_entry_ = 0;
  std::vector<bool> asked_;  // by entry: each is answered once
  std::deque<std::uint32_t> wanted_;
  std::deque<wire::SyncWants::Content> contents_;
  std::set<std::string, std::greater<>> gone_;  // contents before their folder
  wire::SyncSettled settled_;
  EntryFile file_;  // wanted_.front(), when it is open
  std::uint64_t wanted_bytes_ = 0;
};

}  // namespace dlaunch
