// The sessions of all nodes of a run, and the cluster that their facts add up to.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "launch/connect/node_connector.h"
#include "launch/connect/node_targets.h"
#include "launch/session/session.h"
#include "model/cluster.h"
#include "model/job_spec.h"
#include "os/event_loop.h"

namespace dlaunch {

/// The nodes of a run, and the agents on this machine, which must be forked before there is an
/// event loop.
struct LocalStart {
  std::uint64_t session = 0;
  std::vector<NodeTarget> targets;                // index = NodeIndex
  std::vector<std::optional<Connection>> forked;  // the same; none where the way is not fork
};
[[nodiscard]] Result<LocalStart> fork_local_agents(const JobSpec& spec,
                                                   const AttachedFront& front = {});

/// Lives on the engine's one thread.
class ClusterSessions {
 public:
  struct Callbacks {
    std::function<void(NodeIndex, Event)> on_event;
    std::function<void(NodeIndex, const wire::OutputView&)> on_output;
    std::function<void(NodeIndex, const wire::OutputEnd&)> on_output_end;
    std::function<void(const wire::StdinTaken&)> on_stdin_taken;
    std::function<void(std::string)> on_notice;
    std::function<void(NodeIndex, const wire::PlacesMissing&)> on_places = {};
    std::function<void(NodeIndex, const wire::FetchedOutput&)> on_fetched = {};
    std::function<void(NodeIndex, Duration outage, const std::string& cause)> on_resumed = {};
    std::function<void(NodeIndex, const wire::Message&)> on_reach = {};  // DoorOpen, Knocked
    std::function<void(NodeIndex, const wire::Message&)> on_sync = {};   // see Session
    std::function<void(NodeIndex, Duration silence)> on_silent = {};
    std::function<void(NodeIndex, wire::Message)> on_pmix = {};    // as in Session
    std::function<void(NodeIndex, int signal)> on_signalled = {};  // by the scheduler, its step
    std::function<void(NodeIndex, const wire::Inspected&)> on_inspected = {};
  };

  ClusterSessions(EventLoop& loop, const JobSpec& spec, LocalStart local, Callbacks callbacks);

  ~ClusterSessions() { *alive_ = false; }
  ClusterSessions(const ClusterSessions&) = delete;
  ClusterSessions& operator=(const ClusterSessions&) = delete;

  /// Before connect(): agents on other nodes make a folder for output, named after the run.
  void set_run(std::string run_id) { run_id_ = std::move(run_id); }
  /// The answer is NodeReady of the attempt, or NodeLost. For a node whose session was lost, or
  /// could not be begun, this makes another one, with an id of its own, to another agent: nothing
  /// of the old one is heard any more. `within`: 0: timeouts.connect.
  void connect(NodeIndex node, Attempt attempt = {}, Duration within = Duration(0));
  /// Facts of a connected node for a later attempt.
  void gather(NodeIndex node, Attempt attempt);
  /// See NodeConnector.
  void set_prompts(NodeConnector::Prompts prompts) { connector_.set_prompts(std::move(prompts)); }
  void user_asked() { connector_.user_asked(); }
  /// To a node without a session (it never had one): nothing.
  void send(NodeIndex node, const wire::Message& message);
  void release(NodeIndex node);
  void release_all();
  /// Of a node with a session; null: it has none.
  [[nodiscard]] const NodeClock* clock(NodeIndex node) const {
    return sessions_[node.value] ? &sessions_[node.value]->clock() : nullptr;
  }
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] std::size_t size() const { return sessions_.size(); }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  /// What was found by trying becomes a part of cluster(); nullopt: nothing yet.
  void set_meeting(std::optional<Meeting> meeting) { cluster_.meeting = std::move(meeting); }
  /// Waits a moment for the processes behind ended sessions, and ends what is left below us on this
  /// machine when both its guardian and its agent were killed. `before`: children that this process
  /// had before the sessions; they are left alone.
  void reap_processes(const std::set<pid_t>& before = {});

 private:
  [[nodiscard]] wire::FactsRequest facts_request(NodeIndex node, Attempt attempt) const;
  [[nodiscard]] Session::Callbacks callbacks_of(NodeIndex node);
  [[nodiscard]] Reconnection::Way way_back_to(NodeIndex node);
  void begin_session(NodeIndex node, Connection connection);
  void open(NodeIndex node, Attempt attempt, Duration within);
  void connected(NodeIndex node, Attempt attempt, Result<Connection> connection);
  void fail_later(NodeIndex node, std::string what);
  [[nodiscard]] bool begin_again(NodeIndex node);
  [[nodiscard]] bool end_what_is_left(NodeIndex node);

  EventLoop& loop_;
  const JobSpec& spec_;
  Callbacks callbacks_;
  LocalStart start_;
  Cluster cluster_;
  std::vector<std::unique_ptr<Session>> sessions_;  // index = NodeIndex; null until connected
  std::vector<std::unique_ptr<Session>> retired_;   // of lost agents; they end their connections
  std::vector<std::uint64_t> ids_;                  // index = NodeIndex: of the present session
  std::vector<std::uint32_t> tries_;                // the same: to connect it
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  NodeConnector connector_;
  bool local_lost_ = false;
  std::string run_id_;
};

}  // namespace dlaunch
