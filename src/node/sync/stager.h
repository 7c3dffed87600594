// The node's side of `sync: true`: finds out which parts of the launcher's workdir are missing
// here, requests them and writes them. docs/how-to/sync-code.md says what is kept, replaced and
// removed; sync/rules.h decides.
//
// Works in small pieces between other work of the agent, so that heartbeats continue however many
// files there are. One pass at a time; an unfinished one leaves only complete files.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/environment.h"
#include "node/sync/sync_record.h"
#include "node/sync/sync_tree.h"
#include "os/content_hash.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class Stager {
 public:
  using Send = std::function<void(const wire::FromAgent&)>;
  /// `env`: the agent's own, to locate the record; it must outlive this.
  Stager(EventLoop& loop, const Environment& env, Send send)
      : loop_(loop), env_(env), send_(std::move(send)) {}

  void on(const wire::SyncBegin& begin);
  void on(wire::SyncEntries& entries);
  void on(const wire::SyncSettled& settled);
  void on(const wire::SyncRemove& remove);
  void on(const wire::SyncData& data);
  void on(const wire::SyncEnd& end);
  /// Ends the pass in any state, leaving no open file and no temporary file.
  void abandon();

 private:
  enum class State : std::uint8_t {
    unseen,
    settled,  // nothing is left to do
    asked,    // its content was requested, or its hash was sent
    late,     // a link, made at the end
    written,
  };
  struct Item {
    SyncEntry entry;
    State state = State::unseen;
    bool ours = false;                   // written by a sync, or about to be
    bool replaces = false;               // takes the place of something that no sync has written
    bool takes_place_of_folder = false;  // a folder that a sync has made, empty by then
  };
  struct Hashing {
    std::uint32_t item = 0;
    UniqueFd fd;
    ContentHasher hasher;
    std::uint64_t told = 0;  // bytes at the last SyncTaken
    std::uint64_t done = 0;
  };

  [[nodiscard]] bool is_current(std::uint32_t id) const { return active_ && id == id_; }
  void look_on();
  void look_some();
  void look_at(std::uint32_t number);
  void make(Item& item, const sync::Decision& decision);
  void begin_hash(std::uint32_t number);
  void hash_some();
  void end_hash(bool readable);
  void find_gone_some();
  void end_looking();
  [[nodiscard]] bool has_room();
  void tell(bool last);
  void took(std::uint64_t cost);
  void write(const wire::SyncData::Piece& piece);
  [[nodiscard]] int begin_file(std::uint32_t number);
  [[nodiscard]] int check_writable();
  void keep_as_it_was(Item& item);
  void note_replaced(const Item& item);
  void finish_late_ones();
  void save_record();
  [[nodiscard]] const SyncEntry* recorded(const std::string& path) const;
  [[nodiscard]] std::string shown(const std::string& path) const;
  void fail_before(Item& item, const std::string& path, int error);
  void fail(const std::string& path, int error);
  void fail(std::string problem);

  EventLoop& loop_;
  const Environment& env_;
  Send send_;
  std::uint32_t id_ = 0;
  bool active_ = false;
  std::uint64_t turns_ = 0;  // identifies the pass of a posted turn
  std::string root_;
  SyncTree tree_;
  std::optional<SyncRecord> record_;
  SyncEntries recorded_;
  bool unrecorded_ = false;  // something has changed since the record was saved
  bool all_looked_at_ = false;
  bool is_writable_ = false;  // was checked
  std::vector<Item> items_;
  std::set<std::string> paths_;  // of all items, to find paths that are gone
  std::deque<std::pair<std::size_t, std::uint64_t>>
      unseen_;            // end of each message's items, and its cost
  std::size_t next_ = 0;  // next item to look at
  bool all_listed_ = false;
  bool looking_ = false;  // a turn is posted
  std::optional<Hashing> hashing_;
  std::optional<std::string> gone_from_;  // where the search for removed paths continues
  std::set<std::string> gone_;
  wire::SyncWants wants_;
  std::uint64_t taken_ = 0;
  std::uint32_t writing_ = 0;  // the item of file_
  SyncTree::NewFile file_;
  std::uint64_t written_ = 0;  // bytes of that item
  std::vector<std::size_t> made_folders_;
  wire::SyncDone done_;
};

}  // namespace dlaunch
