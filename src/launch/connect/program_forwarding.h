// Brings dlaunch from nodes that have it to nodes that lack it (program_relay.h decides which): the
// tickets, the holders' listeners, and the lines for the other nodes' shells (remote_script.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "launch/connect/own_binary.h"
#include "launch/connect/program_relay.h"
#include "model/job_spec.h"
#include "model/stage.h"
#include "model/time.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the loop's one thread.
class ProgramForwarding {
 public:
  /// Sends the message to the agent of a node. False: the node has none.
  using Serve = std::function<bool(NodeId holder, const wire::ServeProgram&)>;
  /// `order`: the order for dlaunch-fetch; empty: the launcher sends the program.
  using Feed = std::function<void(NodeId node, const std::string& order)>;

  /// `limit`: for connecting to one node, all steps included. `program` must outlive this.
  ProgramForwarding(EventLoop& loop, OwnBinary& program, Duration limit, Serve serve, Feed feed);
  ~ProgramForwarding() { *alive_ = false; }
  ProgramForwarding(const ProgramForwarding&) = delete;
  ProgramForwarding& operator=(const ProgramForwarding&) = delete;

  /// dlaunch-fetch; empty: this build has none.
  [[nodiscard]] const std::string& fetcher();

  /// The node has a shell that waits. Feed is called for it, in a later turn, unless over() is
  /// called first.
  void lacks(NodeId node);
  /// The node's agent can be asked to serve.
  void has(NodeId node);
  /// The node's agent cannot be asked any more.
  void gone(NodeId node);
  /// While ranks run, no node is asked to feed others, so that nothing listens.
  void close(bool closed);
  /// An answer of a node that was not asked is ignored.
  void served(NodeId holder, const wire::ProgramServed& answer);
  /// The node got nothing from another node, and said `why`; Feed is not called again for it.
  void failed(NodeId node, const std::string& why);
  /// The node has the program, or is not to be fed any more.
  void over(NodeId node, bool has_it);

 private:
  struct Guest {
    Guest(EventLoop& loop, NodeId its, NodeId by) : node(its), holder(by), limit(loop) {}
    NodeId node;
    NodeId holder;
    std::string ticket;
    Timer limit;  // for the answer of its holder
  };

  void advance_soon();
  void advance();
  void ask(NodeId node, NodeId holder);
  void give_up(std::uint32_t id, bool by_holder);
  [[nodiscard]] std::string order_for(const Guest& guest, const StageAddress& at);

  EventLoop& loop_;
  OwnBinary& program_;
  const Duration limit_;  // for a wait, and for a transfer
  Serve serve_;
  Feed feed_;
  std::optional<std::string> fetcher_;  // found when first needed
  std::optional<StrongHash> hash_;      // likewise
  ProgramRelay relay_;
  Timer timer_;
  std::uint32_t last_id_ = 0;
  std::map<std::uint32_t, std::unique_ptr<Guest>> guests_;  // whose holders have not answered
  bool advance_posted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dlaunch
