// The sessions of all nodes of a run, and the cluster built from their facts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "launch/connect/node_connector.h"
#include "launch/connect/node_targets.h"
#include "launch/keep/kept_connections.h"
#include "launch/session/nodes.h"
#include "launch/session/session.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/status.h"
#include "os/event_loop.h"

namespace dlaunch {

/// The nodes of a run, and the agents on this machine, which must be forked before there is an
/// event loop.
struct LocalStart {
  std::uint64_t session = 0;
  std::vector<NodeTarget> targets;                // index = NodeId, including removed ones
  std::vector<std::optional<Connection>> forked;  // likewise; nullopt unless forked
};
[[nodiscard]] Result<LocalStart> fork_local_agents(const JobSpec& spec,
                                                   const AttachedFront& front = {});

/// Lives on the engine's one thread.
class ClusterSessions : public Nodes {
 public:
  ClusterSessions(EventLoop& loop, const JobSpec& spec, LocalStart local, NodeListener listener);

  ~ClusterSessions() override { *alive_ = false; }

  /// For a run, before anything else: the agents on this machine gather their facts while the
  /// launcher makes the run's folder. Their answers arrive as if connect() had asked.
  void begin_run();
  /// Adds a node to the set, between two attempts; it needs connect() next.
  NodeId add(NodeTarget target);
  /// Takes a node out of the set, perhaps until it is connected and asked for its facts again: its
  /// agent exits, and its messages are ignored from now on. If the job has spares, the first of
  /// them takes its position; if not, the next node that returns before ranks run does.
  void remove(NodeId node);
  /// Call before connect(): kept nodes (launch/keep) are used, and agents on other nodes make a
  /// folder for output, named after the run. Empty: there is no run, and no output.
  void set_run(std::string run_id);
  /// A session that replaces another one has its own id, so nothing of the old one is accepted.
  void connect(NodeId node, Attempt attempt = {}, Duration within = Duration(0)) override;
  void gather(NodeId node, Attempt attempt) override;
  void set_prompts(Prompts prompts) override { connector_.set_prompts(std::move(prompts)); }
  void user_asked() override { connector_.user_asked(); }
  /// While ranks run, no node is asked to give dlaunch to others, so that nothing listens.
  void set_ranks_run(bool run);
  void send(NodeId node, const wire::ToAgent& message) override;
  void release(NodeId node) override;
  void release_all();
  [[nodiscard]] NodeClock* clock(NodeId node) override {
    Session* const session = session_of(node);
    return session != nullptr ? &session->clock() : nullptr;
  }
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] std::size_t size() const { return cluster_.nodes.size(); }
  [[nodiscard]] const std::vector<NodeTarget>& targets() const { return start_.targets; }
  [[nodiscard]] const Cluster& cluster() const override { return cluster_; }
  void set_meeting(std::optional<Meeting> meeting) override {
    cluster_.meeting = std::move(meeting);
  }
  /// Each attempt asks all nodes for their facts; until the next one does, they have none.
  void forget_facts() {
    for (Node& node : cluster_.nodes) node.facts = {};
  }
  /// A node that was taken out of the set and has reported its facts to a new session; null: it has
  /// not, or is part of cluster() again.
  [[nodiscard]] const Node* returned(NodeId node) const;
  /// The node has reported its facts to its session; if it has returned, see admit().
  [[nodiscard]] bool is_ready(NodeId node) const { return members_.at(node).is_ready; }
  /// A returned node has passed its check: the next attempt can use it.
  void admit(NodeId node) { members_.at(node).is_ready = true; }
  /// The nodes that an attempt with this plan does not use; empty if the job uses all given nodes.
  [[nodiscard]] std::vector<SpareStatus> spares(const LaunchPlan& plan) const;
  /// All agents were forked here and none was lost: their processes end by themselves.
  [[nodiscard]] bool end_by_themselves() const;
  /// Waits a moment for the processes of ended sessions. If both the guardian and the agent on this
  /// machine were killed, ends the processes that they left below us. `before`: children that this
  /// process had before the sessions; they are left alone.
  void reap_processes(std::set<pid_t> before = {});

 private:
  struct Member {
    std::unique_ptr<Session> session;  // null until connected
    std::uint64_t id = 0;              // of the current session; 0: none, the node was removed
    std::uint32_t tries = 0;           // to connect it
    bool is_kept = false;              // the current session is over a kept connection
    bool is_ready = false;             // its facts are known; if it returned, see admit()
    Attempt attempt;                   // for which that session was asked for facts
  };

  [[nodiscard]] Session* session_of(NodeId node) const;
  [[nodiscard]] Node* find(NodeId node);
  [[nodiscard]] bool is_launcher(NodeId node) const;
  [[nodiscard]] wire::FactsRequest facts_request(NodeId node, Attempt attempt) const;
  [[nodiscard]] Session::Listener listener_of(NodeId node);
  [[nodiscard]] Reconnection::Way way_back_to(NodeId node);
  void begin_session(NodeId node, Connection connection, bool is_kept = false);
  void open(NodeId node, Attempt attempt, Duration within);
  void open_kept(NodeId node, Attempt attempt, Duration within);
  [[nodiscard]] bool fall_back(NodeId node, const NodeNews& news);
  void give_back_kept();
  void connected(NodeId node, Attempt attempt, Result<Connection> connection);
  void fail_later(NodeId node, std::string what);
  void begin_again(NodeId node);
  [[nodiscard]] bool end_what_is_left(NodeId node);

  EventLoop& loop_;
  const JobSpec& spec_;
  NodeListener listener_;
  LocalStart start_;
  Cluster cluster_;
  std::map<NodeId, Member> members_;               // those of cluster_, and removed ones
  std::map<NodeId, Node> returned_;                // removed ones that are connected again
  std::vector<std::size_t> vacant_;                // positions for the next plan, the latest last
  std::vector<std::unique_ptr<Session>> retired_;  // replaced, or of removed nodes; they are ending
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  NodeConnector connector_;
  KeptConnections kept_;
  bool local_lost_ = false;
  bool is_run_ = false;  // begin_run() has asked the forked agents for their facts
  std::string run_id_;
};

}  // namespace dlaunch
