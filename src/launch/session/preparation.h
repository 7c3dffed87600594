// The conversation between a launcher and the nodes of a job before any rank is started;
// Preparation::talk() reads from top to bottom. `run`, `plan`, `check` and `export` each hold it up
// to the step that yields what they need.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/mpi/pmix_start.h"
#include "launch/session/coroutine.h"
#include "launch/session/inspect_message.h"
#include "launch/session/missing_prerequisites.h"
#include "launch/session/nodes.h"
#include "launch/session/reach_check.h"
#include "launch/stage/job_staging.h"
#include "launch/sync/workdir_sync.h"
#include "model/job_spec.h"
#include "model/launch_plan.h"
#include "model/time.h"
#include "os/event_loop.h"
#include "plan/make_plan.h"
#include "wire/message.h"

namespace dlaunch {

/// The steps of the conversation, in order.
enum class PrepareStep : std::uint8_t {
  facts,          // each node is connected and reports what it has
  meeting,        // where ranks can meet, found by trying
  plan,           // made from what is known; asks nothing
  copies,         // staged files are copied to all nodes; no other step follows the plan
  prerequisites,  // whether what the ranks need is on each node
  start,          // workdir and staged files are copied before `prerequisites`; PMIx servers are
                  // started beside it
};

struct PrepareSettings {
  PrepareStep up_to = PrepareStep::start;
  /// Whether the step `meeting` tries addresses; if not, the plan takes the best one untested.
  bool try_meeting = true;
  /// What each node is asked about its condition, right after its facts; nullopt: not asked.
  std::optional<InspectionScope> inspection{};
  /// Called when the facts are known: adapts the job to them. Empty: the job stays as it is.
  std::function<Status(JobSpec&, const Cluster&)> adapt{};
};

/// The result of the conversation.
struct Prepared {
  std::optional<Error> failure;                // why it ended early
  PrepareStep failed_at = PrepareStep::facts;  // with `failure`
  std::map<NodeId, std::string> lost;          // and why; if not empty, this is the failure
  std::map<NodeId, NodeCondition> conditions;  // with an inspection; of the nodes that are not lost
  std::vector<NodeId> unreached;               // failed at `meeting`: the nodes at fault, if known
  std::vector<NodeId> one_of_these;            // likewise: two nodes, and either may be at fault
  std::optional<LaunchPlan> plan;              // once it is made; complete if nothing failed
  std::map<NodeId, std::vector<std::string>> missing;  // prerequisites, one line each
};

struct PrepareListener {
  /// Once for each begin(), perhaps from within it.
  std::function<void(Prepared)> done;
  // With PrepareStep::start and ::copies, if the job has a sync or a stage:
  std::function<void(bool)> copying{};              // true: begins; false: has ended well
  std::function<void(const SyncReport&)> synced{};  // before copying(false)
  std::function<void(const StageReport&)> staged{};  // likewise
  std::function<void(std::string)> show{};          // the line on a terminal; empty: none
  std::function<void(const std::string&)> note{};   // a sentence that the user is told at once
};

/// Lives on the engine's one thread. Neither begin() nor cancel() may be called from a callback.
class Preparation {
 public:
  Preparation(EventLoop& loop, const JobSpec& spec, PrepareSettings settings, Nodes& nodes,
              PrepareListener listener);

  /// Talks to all of Nodes::cluster(). Nodes whose facts of this attempt are known are not asked
  /// for them: in a run, the supervisor decides when each node is connected. Every wait has a
  /// limit: timeouts.connect for the facts, slightly less for the later steps, and a separate limit
  /// for a sync. Errors are those of the steps, kNodeLost if nodes are lost or silent, kPreflight
  /// if only PMIx servers are missing.
  void begin(PlanContext context);
  /// Nothing is sent any more, and `done` is not called.
  void cancel();

  void on(NodeId node, const wire::Facts& facts) { facts_known(node, facts.attempt); }
  void on(NodeId node, const wire::Inspected& answer);
  void on(NodeId node, const wire::OneOf<wire::ReachAnswer> auto& answer) {
    reach_.on(node, answer);
  }
  void on(NodeId node, const wire::OneOf<wire::SyncAnswer> auto& answer) { sync_.on(node, answer); }
  void on(NodeId node, const wire::OneOf<wire::StageAnswer> auto& answer) {
    staging_.on(node, answer);
  }
  void on(NodeId node, const wire::OneOf<wire::FromNodeAnswer> auto& answer) {
    staging_.on(node, answer);
  }
  void on(NodeId node, const wire::PrerequisitesMissing& answer);
  void on(NodeId node, const wire::PmixReady& answer);
  /// The node has reported its facts for the attempt; may be called at any time.
  void facts_known(NodeId node, Attempt attempt);
  /// The session with the node is over; may be called at any time. A node that returns has a new
  /// agent, which knows nothing of this conversation. The loss ends the conversation, but only when
  /// every other node has reported its facts or is lost. A staging goes on without the node: up to
  /// PrepareStep::copies the conversation ends with it. Otherwise it goes on in the background, may
  /// still call `staged`, `show` and `note`, and the next conversation awaits or cancels it before
  /// any rank is started.
  void node_lost(NodeId node, const std::string& why);

 private:
  /// Questions of one kind that nodes have not answered yet. An attempt may be prepared twice, if
  /// a node is lost meanwhile; agents answer each question, in order, so the last answer counts.
  class Asked {
   public:
    void add(NodeId node) { ++open_[node]; }
    void forget(NodeId node) { open_.erase(node); }
    [[nodiscard]] bool is_answer_to_last(NodeId node);

   private:
    std::map<NodeId, std::uint32_t> open_;
  };

  Coroutine talk();
  using Condition = bool (Preparation::*)() const;
  [[nodiscard]] Coroutine::Wait until(Condition holds);
  [[nodiscard]] Coroutine::Wait until(Condition holds, Duration limit);
  void go_on();
  void end();
  void end_questions();
  void fail_at(PrepareStep step, Error error);

  void ask_for_facts();
  [[nodiscard]] bool has_told(NodeId node) const;
  [[nodiscard]] bool all_told() const;
  void give_up_silent_nodes();
  void ask_for_conditions();
  [[nodiscard]] bool all_inspected() const;
  void give_up_inspections();
  [[nodiscard]] Error lost_nodes() const;
  [[nodiscard]] bool has_met() const { return met_.has_value(); }
  [[nodiscard]] bool needs_sync() const;
  void begin_sync();
  [[nodiscard]] bool is_synced() const { return synced_report_.has_value(); }
  void take_sync(const SyncReport& report);
  [[nodiscard]] bool needs_staging() const;
  void begin_staging();
  void end_staging();
  [[nodiscard]] bool has_staged() const { return !is_staging_; }
  void take_staging();
  [[nodiscard]] Error lost_while_staging() const;
  [[nodiscard]] std::string home() const {
    return find_variable(context_.launcher_env, "HOME").value_or("");
  }
  void ask_for_prerequisites();
  [[nodiscard]] Status ask_for_pmix();
  [[nodiscard]] bool all_checked() const { return missing_.complete() && pmix_.complete(); }
  [[nodiscard]] Error too_late() const;
  void settle();

  JobSpec spec_;
  PrepareSettings settings_;
  Nodes& nodes_;
  PrepareListener listener_;
  PlanContext context_;

  Coroutine talk_;
  Condition awaited_ = nullptr;
  Timer limit_;
  bool is_late_ = false;
  bool gathers_ = false;  // a lost node does not end the conversation: the others are heard first
  Prepared outcome_;

  // What outlives a conversation:
  std::map<NodeId, Attempt> facts_;  // that were reported
  std::set<NodeId> synced_;
  std::set<NodeId> staged_;
  Asked prerequisites_asked_;
  Asked pmix_asked_;

  ReachCheck reach_;
  std::optional<Result<Meeting>> met_;
  WorkdirSync sync_;
  std::optional<Result<SyncReport>> synced_report_;
  JobStaging staging_;
  bool is_staging_ = false;  // perhaps since before the conversation
  Status staged_all_;
  MissingPrerequisites missing_;
  PmixStart pmix_;
};

}  // namespace dlaunch
