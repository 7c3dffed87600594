// `stage`: copies files and folders to the nodes, sending each byte only once over the link of the
// machine that has them: the first node gets the blocks from here, each other node from the one
// before it. It runs on the launcher, and on a node whose files are staged
// (node/stage/stage_from_service.h). docs/how-to/stage-data.md has the rules,
// docs/decisions/020-stage-through-a-chain.md the reasons; node/stage/stage_service.h is the other
// end.
//
// The nodes compare what they have; what any of them lacks becomes one stream of blocks, the same
// for all nodes that get any. Nothing is sent before all nodes have room for it.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "model/stage.h"
#include "model/time.h"
#include "node/stage/stage_door.h"
#include "node/stage/stage_source.h"
#include "os/event_loop.h"
#include "os/file_hash.h"
#include "sync/chain.h"
#include "sync/pace.h"
#include "sync/window.h"
#include "wire/message.h"

namespace dlaunch {

struct StageRunSettings {
  struct To {
    NodeId node;
    std::string name;
    bool forwards = true;  // may feed others and be fed by them
  };
  std::vector<StageItem> items;
  bool for_ranks = false;  // ranks use the targets afterwards
  std::string by;  // who stages, for others that want the same targets: "run 20261120-210142-k3f"
  bool needs_all = true;  // what environments need must be on the nodes
  /// For `collect`: nothing is removed at the target, and errors do not name it, because there is
  /// only one.
  bool collects = false;
  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();  // of all items together
  std::vector<To> nodes;
  /// Addresses at which the second node may reach the first one. Arguments: indexes into `nodes`.
  std::function<std::vector<std::string>(std::size_t, std::size_t)> addresses;
  /// If this runs on a node: the user's name for it.
  std::string self{};
  /// This machine's addresses at which a node may reach it to get blocks from here, not by send().
  std::function<std::vector<std::string>(std::size_t)> own_addresses{};
  std::uint64_t least_direct = 0;  // a smaller stream goes by send()
  Duration reach{5000};  // a node that has not reached own_addresses by then is served by send()
  Duration window_delay{500};  // a node is sent as much at once as it takes in this time
  Duration stall{60'000};      // a node that takes nothing for this long has failed
  Duration bridge{15'000};     // a node that receives nothing for this long gets another source
  Duration patience{3'600'000};  // how long to wait for another staging of the same target
};

/// Lives on the engine's one thread. Never runs for longer than a few milliseconds at a time.
class StageRun {
 public:
  struct Callbacks {
    std::function<void(NodeId, wire::StageOrder)> send;
    /// Errors: those of StageSource; exit_code::kPreflight with a line for each node that refused.
    /// Not called from within begin().
    std::function<void(Result<StageReport>)> done;
    std::function<void(std::string)> show;  // the line on a terminal; empty: none
    std::function<void(std::string)> note;  // a sentence that the user is told at once
  };

  StageRun(EventLoop& loop, Callbacks callbacks);
  ~StageRun() { cancel(); }
  StageRun(const StageRun&) = delete;
  StageRun& operator=(const StageRun&) = delete;

  void begin(StageRunSettings settings);
  void on(NodeId node, const wire::OneOf<wire::StageAnswer> auto& answer) { hear(node, answer); }
  /// The others go on without the node, and the report leaves it out. The last one ends the
  /// staging.
  void node_lost(NodeId id);
  /// Never calls done(). What nodes have received stays there.
  void cancel();

 private:
  enum class Stage : std::uint8_t {
    idle,
    listing,
    waiting,  // for another staging of the same target
    claiming,
    looking,
    comparing,
    checking,
    moving
  };
  struct Node {
    explicit Node(sync::Window first) : window(std::move(first)) {}
    StagedNode result;
    std::string problem;
    bool is_lost = false;         // nothing waits for it, or is sent to it
    std::uint32_t announced = 0;  // entries
    std::uint32_t looked = 0;     // of these
    bool all_announced = false;
    bool has_claimed = false;
    wire::StageClaimed other{};  // who has claimed a target, if this node could not
    bool has_answered = false;
    bool has_looked = false;
    bool is_ready = false;
    bool is_done = false;
    bool needs = false;                                         // blocks of the stream
    bool holds = false;  // has all of them, and may feed others
    std::map<std::uint32_t, std::vector<std::uint64_t>> wants;  // by entry: hashes of its blocks
    std::vector<std::uint32_t> same;
    std::uint32_t link = 0;
    std::optional<std::size_t> source{};  // index of the node that feeds it; none: this machine
    std::unique_ptr<StageDoor> door;      // for blocks from here; null: they go by send()
    bool has_no_door = false;             // `door` failed, or its connection has ended
    bool is_linked = false;
    StageKey key;                // until the source listens
    std::uint64_t position = 0;  // blocks that it has
    std::uint64_t work = 0;      // wire::StageProgress::work
    std::uint64_t fed = 0;       // position of the next block from here
    sync::Window window;         // for what it gets from here
    StageSource::Reader reader;  // likewise
    MonotonicTime heard_at{0};
    MonotonicTime moved_at{0};
  };
  /// A file that is read for its hashes.
  struct Hashing {
    std::uint32_t entry = 0;
    std::uint64_t block = 0;
    StageSource::Reader reader;
    FileHasher strong;
    std::vector<std::uint64_t> blocks;
  };

  void hear(NodeId id, const wire::StageAnswer& answer);
  void take(Node& node, const wire::StageClaimed& claimed);
  void take(Node& node, const wire::StageWants& wants);
  void take(Node& node, const wire::StageReady& ready);
  void take(Node& node, const wire::StageListening& listening);
  void take(Node& node, const wire::StageLinked& linked);
  void take(Node& node, const wire::StageProgress& progress);
  void take(Node& node, const wire::StageDone& done);
  [[nodiscard]] Node* find(NodeId id);

  void work_on();
  void work();
  void list_some();
  void begin_nodes();
  void all_claimed();
  void wait_for(const Node& node);
  void claim_again(MonotonicTime now);
  void announce(Node& node);
  void note_missing(Node& node, const std::vector<std::uint32_t>& missing);
  void all_looked();
  [[nodiscard]] bool hash_some();
  void end_hash();
  void compare();
  void send_stream(Node& node);
  /// Whether the node gets its blocks from here, whatever happens.
  [[nodiscard]] bool is_direct(const Node& node) const {
    return !node.needs || !chain_->may_have_source(index_of(node));
  }
  void all_ready();
  void all_done();
  [[nodiscard]] bool may_hold(const Node& node) const;
  void feed(std::size_t index);
  void feed_from_here(std::size_t index);
  [[nodiscard]] StageDoor::Blocks blocks_for(std::size_t index);
  [[nodiscard]] bool make_key(StageKey& key);
  void source_failed(std::size_t index, const std::string& why);
  void close_gap(std::size_t lost);
  void watch_pace(MonotonicTime now);
  [[nodiscard]] std::string what() const;
  [[nodiscard]] bool move_some();
  [[nodiscard]] std::string append_block(std::uint64_t position, StageSource::Reader& reader,
                                         std::string& pieces);
  [[nodiscard]] bool send_blocks(Node& node, MonotonicTime now);
  void flush_hashes();
  void tick();
  void watch_links(MonotonicTime now);
  void tell_progress();
  [[nodiscard]] std::size_t index_of(const Node& node) const {
    return static_cast<std::size_t>(&node - nodes_.data());
  }
  /// Whether it is true of all nodes that are not lost.
  template <class Holds>
  [[nodiscard]] bool all(Holds holds) const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [&](const Node& node) { return node.is_lost || holds(node); });
  }
  [[nodiscard]] bool any_failed() const;
  void send(const Node& node, wire::StageOrder message) {
    if (!node.is_lost) callbacks_.send(node.result.node, std::move(message));
  }
  void fail(std::string problem);
  void fail_to_read(const std::string& problem);
  void fail_to_write(const Node& node);
  void begin_again();
  void fail_at_nodes();
  void finish(Result<StageReport> report);

  EventLoop& loop_;
  Callbacks callbacks_;
  StageRunSettings settings_;
  Timer timer_;
  Stage stage_ = Stage::idle;
  std::uint32_t id_ = 0;
  std::uint32_t last_link_ = 0;
  std::uint64_t turns_ = 0;
  bool working_ = false;  // a turn is posted
  MonotonicTime began_{0};
  MonotonicTime moving_from_{0};
  std::optional<MonotonicTime> waiting_from_{};  // since when it waits for another staging
  MonotonicTime again_at_{0};
  MonotonicTime patient_from_{0};  // silence of nodes does not count before this
  std::optional<StageSource> source_;
  StagedEnvironments environments_;
  std::set<std::uint32_t> lacking_;  // indexes of needs that some node lacks
  std::uint64_t skipped_ = 0;        // archive members left out, on the node with the most
  std::vector<Node> nodes_;
  std::deque<std::uint32_t> to_hash_;
  std::optional<Hashing> hashing_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> blocks_;  // hashes of entries to compare
  std::map<std::uint32_t, StrongHash> strong_;
  std::vector<std::uint32_t> untold_;  // entries whose strong hash the nodes do not know yet
  sync::BlockStream stream_;
  std::uint64_t stream_bytes_ = 0;
  std::uint64_t appended_ = 0;    // positions of the stream before this one were read
  std::uint64_t zero_bytes_ = 0;  // of `stream_bytes_`: in blocks that are sent without bytes
  std::optional<sync::Chain> chain_;
  sync::Pace pace_;
  StageReport report_;
  bool shown_ = false;
  bool began_again_ = false;   // because a file has changed
  bool trusts_copies_ = true;  // nodes that seem to have everything may feed others
};

}  // namespace dlaunch
