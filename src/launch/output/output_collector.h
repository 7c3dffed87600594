// Collects the output of ranks on other nodes (both streams, error files) in the run folder. Each
// file in it is always an exact prefix of the stream, so that `dlaunch logs -f` can read it: output
// sent for the console is appended at once; the rest (skipped parts, ranks that are not shown) is
// fetched as soon as later output of the stream arrives, or when the attempt has ended on the node.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/output/collected_files.h"
#include "model/cluster.h"
#include "model/launch_plan.h"
#include "wire/codec.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the engine's one thread. It has no time limit: a caller that waits watches progress().
class OutputCollector {
 public:
  using Send = std::function<void(NodeId, const wire::ToAgent&)>;
  explicit OutputCollector(Send send) : send_(std::move(send)) {}

  /// Begins an attempt. `folder`: that of the attempt; absolute; must exist.
  void begin(const LaunchPlan& plan, std::string folder);
  // Messages from agents. Ranks of nodes other than the sender's are ignored, as are those whose
  // agent writes into the run folder itself.
  void add(NodeId node, const wire::OutputData& data);
  void end(NodeId node, const wire::OutputEnd& end);
  void rank_started(Rank rank);
  void rank_failed(Rank rank);  // fetch its error file
  /// No process of the attempt is left on the node: fetches the streams that have ended, and later
  /// ones when their ends arrive.
  void node_empty(NodeId node, Attempt attempt);
  void fetched(NodeId node, const wire::FetchedOutput& data);
  /// `end_was_heard`: if false, the node's ranks may have printed more into their files on the
  /// node.
  void node_lost(NodeId node, bool end_was_heard = true);

  /// The attempt has ended everywhere and the console takes no more: also fetches what waited for
  /// the console. Nodes that are not empty are abandoned.
  void fetch_rest();
  /// Fetches nothing more; what is missing stays on the nodes.
  void give_up();

  /// Everything that can arrive has arrived.
  [[nodiscard]] bool complete() const;
  /// Bytes fetched so far; constant while the nodes send nothing.
  [[nodiscard]] std::uint64_t progress() const { return fetched_; }

  /// What the run folder lacks and where it is, one line per node: "the rest of the output of rank
  /// 3 (stdout from byte 4096 on) is on gpu02 in FOLDER". After complete() or give_up().
  /// `has_all_known`: called for a stream of which the run folder has all bytes that this object
  /// knows of; says whether the node had stored no others. A folder without more output is not
  /// named. If the node was lost in silence, its ranks may have printed more after its last sign of
  /// life; a line says so.
  using HasAllKnown = std::function<bool(Rank, wire::OutputPart)>;
  [[nodiscard]] std::vector<std::string> missing(const HasAllKnown& has_all_known = {}) const;
  /// How many bytes of an ended stream its file in the run folder will never have. We may have
  /// received some that the node could not store. nullopt: this object does not collect that
  /// stream. Call after complete() or give_up().
  [[nodiscard]] std::optional<std::uint64_t> lost_of(Rank rank, wire::OutputPart part) const;
  /// Why a file of the run folder could not be written, with its name; empty: all were written.
  [[nodiscard]] const std::string& write_error() const { return write_error_; }

 private:
  using Part = wire::OutputPart;
  using Key = std::pair<Rank, Part>;
  struct Stream {
    std::uint64_t have = 0;            // bytes of the stream that are in the file, or lost
    std::uint64_t available = 0;       // stored on the node, as far as we know
    std::optional<std::uint64_t> end;  // its size, once it is known
    std::uint64_t lost = 0;            // missing in the node's file, as its agent says
    std::uint64_t gone = 0;            // requested, but missing in the node's file
    std::uint64_t file_size = 0;  // in the run folder; differs from `have` by lost bytes and marks
    std::uint64_t ask_from = 0;
    std::size_t asked = 0;  // requests without an answer
    bool ends_line = true;  // the file ends with a newline
    bool fetching = false;  // to its end
    bool stalled = false;   // the file cannot be written; tried again when it is fetched
    bool done = false;
    bool incomplete = false;  // a part of it stays on the node
  };
  struct Request {
    Key key;
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
  };
  struct Remote {
    std::string name;
    std::string folder;           // on the node
    std::vector<Key> keys;        // the expected streams
    std::list<Request> requests;  // answers come in this order
    bool empty = false;
    bool lost = false;
    bool end_was_heard = true;
    bool forgotten = false;
  };

  void expect(Key key);
  [[nodiscard]] bool is_expected(Key key) const;
  [[nodiscard]] Stream* find(NodeId node, Key key);
  /// What is known of an expected stream.
  [[nodiscard]] const Stream& known(Key key) const;
  [[nodiscard]] std::string path_of(Key key) const;
  /// `offset` is at most stream.have; known bytes are left out. False: not written.
  bool append(Key key, Stream& stream, std::uint64_t offset, std::string_view bytes);
  bool write(Key key, Stream& stream, std::string_view bytes);
  void lose(Key key, Stream& stream, std::uint64_t up_to);
  void fetch_more(NodeId node);
  [[nodiscard]] bool ask_next(NodeId node, Remote& remote, Key key, Stream& stream);
  [[nodiscard]] static std::uint64_t ask_limit(Key key, const Stream& stream);
  void settle(Key key, Stream& stream, const Request& request, const wire::FetchedOutput& data);
  static void finish(Stream& stream, bool incomplete);
  void forget_if_collected(NodeId node, Remote& remote);

  Send send_;
  Attempt attempt_;
  std::string folder_;
  std::map<NodeId, Remote> remotes_;
  /// complete() has found all nodes before this one done. It is called often, and nodes may be
  /// many.
  mutable NodeId waits_for_{};
  std::map<Key, Stream> streams_;  // of the expected ones, those that have said something
  std::vector<NodeId> node_of_rank_;
  CollectedFiles files_;
  std::string write_error_;
  std::uint64_t fetched_ = 0;
};

}  // namespace dlaunch
