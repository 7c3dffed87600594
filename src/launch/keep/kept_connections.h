// A run's side of kept nodes (keeper.h): asks all keepers of this user for the nodes of the run,
// and gives back what it got.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/connect/connector.h"
#include "launch/keep/keeper_socket.h"
#include "launch/keep/kept_nodes.h"
#include "model/ids.h"
#include "os/event_loop.h"

namespace dlaunch {

/// Lives on the engine's one thread.
class KeptConnections {
 public:
  /// nullopt: no keeper lends this node; the run connects to it in the ordinary way.
  using Taken = std::function<void(std::optional<Connection>)>;
  /// Gets one sentence about the kept nodes, once.
  using Told = std::function<void(std::string)>;

  KeptConnections(EventLoop& loop, Told told) : loop_(loop), told_(std::move(told)), limit_(loop) {}

  /// Asks for the nodes; the answers come from the loop, within a second. Does not wait.
  /// `unusable`: why the run can use no kept node, which is said if any is kept; empty: it can.
  void ask(const std::string& run, const std::map<NodeId, std::string>& keys,
           const std::string& unusable);
  /// Whether the node was asked for and take() was not called for it yet.
  [[nodiscard]] bool expects(NodeId node) const { return wanted_.contains(node); }
  /// Call once for each node that was asked for; answers from the loop.
  void take(NodeId node, Taken done);
  /// The agent of the node waits for another Hello.
  void give_back(NodeId node);

 private:
  struct Wanted {
    bool is_settled = false;
    std::optional<Connection> got;
    Taken done;
  };
  struct Keeper {
    Keeper(EventLoop& loop, UniqueFd fd) : socket(loop, std::move(fd)) {}
    WatchedFd socket;
    bool is_greeted = false;
    bool is_over = false;
    std::set<std::uint32_t> pending;  // numbers that it has not answered
  };

  void watch(std::size_t keeper);
  void read(std::size_t keeper);
  void greet(std::size_t keeper, const std::string& packet);
  void hear(std::size_t keeper, const std::string& packet, std::vector<UniqueFd> descriptors);
  void lent(std::size_t keeper, std::uint32_t number, std::vector<UniqueFd> descriptors);
  void answered(std::size_t keeper, std::uint32_t number);
  void no_more_from(std::size_t keeper);
  void settle_all();
  void give(NodeId node);
  void tell_once();

  EventLoop& loop_;
  Told told_;
  Timer limit_;
  std::string run_;
  std::vector<std::string> keys_;  // index = number in packets
  std::vector<std::unique_ptr<Keeper>> keepers_;
  std::vector<NodeId> order_;           // index = number in packets
  std::map<NodeId, Wanted> wanted_;     // not taken yet
  std::map<NodeId, std::size_t> lent_;  // by which keeper
  std::map<std::uint32_t, std::string> refused_;
  KeptUse use_;
  bool is_told_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dlaunch
