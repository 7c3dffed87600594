// `sync: true`: copies the launcher's workdir to the same path on other nodes, over the channels of
// their sessions. docs/how-to/sync-code.md has the rules; node/sync/stager.h is the other end.
//
// A pass lists the workdir and brings every node to that list. What changed while it was copied is
// left out of the pass, and another pass follows. Nothing is sent before all nodes have a folder.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/sync/node_sync.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "node/sync/folder_marker.h"
#include "node/sync/workdir_list.h"
#include "os/content_hash.h"
#include "os/event_loop.h"

namespace dlaunch {

struct WorkdirSyncSettings {
  struct To {
    NodeId node;
    std::string name;
  };
  WorkdirListSettings list;
  std::vector<To> nodes;
  std::string origin;          // this machine's name
  Duration window_delay{500};  // a node gets as much at once as it takes in this time
  bool removes = true;         // what an earlier sync put on nodes and is gone here
  Duration stall{60'000};      // a node that is silent for this long has failed
};

/// Lives on the engine's one thread. Never runs for longer than a few milliseconds at a time.
class WorkdirSync {
 public:
  struct Callbacks {
    std::function<void(NodeId, const wire::ToAgent&)> send;
    /// Errors: those of WorkdirLister; exit_code::kPreflight with a line for each node that
    /// refused. Not called from within begin().
    std::function<void(Result<SyncReport>)> done;
    std::function<void(std::string)> show;  // the line on a terminal; empty: none
  };

  WorkdirSync(EventLoop& loop, Callbacks callbacks);
  ~WorkdirSync() { cancel(); }

  void begin(WorkdirSyncSettings settings);
  [[nodiscard]] bool under_way() const { return under_way_; }
  /// SyncFolder, SyncWants, SyncTaken, SyncDone.
  void on(NodeId node, const wire::SyncAnswer& message);
  /// Sends nothing more, and never calls done(). What nodes have received stays there.
  void cancel();

 private:
  void begin_pass();
  void work_on();
  void work();
  void list_some();
  void listed();
  void take_samples(const std::set<std::string>& changed);
  void places_answered();
  [[nodiscard]] bool move_some();
  [[nodiscard]] bool hash_some();
  void end_hash(std::optional<ContentHash> hash);
  void end_pass();
  void tick();
  void tell_progress();
  [[nodiscard]] std::string problems() const;
  void finish(Result<SyncReport> report);

  EventLoop& loop_;
  Callbacks callbacks_;
  WorkdirSyncSettings settings_;
  bool under_way_ = false;
  bool working_ = false;  // a turn is posted
  std::uint64_t turns_ = 0;
  std::uint32_t passes_ = 0;   // since begin()
  std::uint32_t last_id_ = 0;  // of all passes
  MonotonicTime began_{0};
  MonotonicTime patient_from_{0};  // silence of nodes does not count before this
  std::optional<WorkdirLister> lister_;
  FolderMarker marker_;  // in the workdir
  SyncPass pass_;
  bool placing_ = false;
  std::vector<std::unique_ptr<NodeSync>> nodes_;
  struct Hashing {
    std::uint32_t entry = 0;
    EntryFile file;
    ContentHasher hasher;
  };
  std::optional<Hashing> hashing_;
  SyncReport report_;
  Timer timer_;
  bool shown_ = false;
};

}  // namespace dlaunch
