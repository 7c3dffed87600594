#include "launch/session/preparation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "launch/console/debug_log.h"
#include "launch/session/prerequisite_question.h"
#include "launch/session/workdir_advice.h"
#include "launch/stage/stage_settings.h"
#include "launch/sync/workdir_settings.h"
#include "os/clock.h"
#include "os/random.h"
#include "report/own_messages.h"
#include "supervise/wording.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kInspection{25};  // the parts of node/inspection.cc have 23 s
// Time for the answer to arrive.
constexpr std::chrono::seconds kOnTheWay{5};

/// Ends before the supervisor's own limit, so that the nodes are named.
Duration limit_within(Duration timeout) {
  return timeout - std::min<Duration>(timeout / 20, std::chrono::milliseconds(500));
}

Duration left_until(MonotonicTime due) {
  return std::max(std::chrono::duration_cast<Duration>(due - monotonic_now()), Duration(0));
}

}  // namespace

Preparation::Preparation(EventLoop& loop, const JobSpec& spec, PrepareSettings settings,
                         Nodes& nodes, PrepareListener listener)
    : spec_(spec),
      settings_(std::move(settings)),
      nodes_(nodes),
      listener_(std::move(listener)),
      limit_(loop),
      reach_(loop, {.send = [this](NodeId node,
                                   const wire::ToAgent& message) { nodes_.send(node, message); },
                    .done =
                        [this](Result<Meeting> meeting) {
                          met_ = std::move(meeting);
                          go_on();
                        }}),
      sync_(loop, {.send = [this](NodeId node,
                                  const wire::ToAgent& message) { nodes_.send(node, message); },
                   .done =
                       [this](Result<SyncReport> report) {
                         synced_report_ = std::move(report);
                         go_on();
                       },
                   .show = [this](std::string text) { listener_.show(std::move(text)); }}),
      staging_(loop, {.send = [this](NodeId node,
                                     const wire::ToAgent& message) { nodes_.send(node, message); },
                      .staged = [this](const StageReport& report) { listener_.staged(report); },
                      .done =
                          [this](Status status) {
                            staged_all_ = std::move(status);
                            is_staging_ = false;
                            go_on();
                          },
                      .show = [this](std::string text) { listener_.show(std::move(text)); },
                      .note = [this](const std::string& text) { listener_.note(text); }}) {}

// ---- the conversation

// One conversation, from its first question to its last answer.
Coroutine Preparation::talk() {  // NOLINT(readability-function-size)
  // Each node reports what it has. All are heard even if one is lost, so that all faults are named.
  gathers_ = true;
  ask_for_facts();
  co_await until(&Preparation::all_told, spec_.timeouts.connect);
  give_up_silent_nodes();
  if (settings_.inspection) {
    ask_for_conditions();
    co_await until(&Preparation::all_inspected, kInspection + kOnTheWay);
    give_up_inspections();
  }
  gathers_ = false;
  if (!outcome_.lost.empty()) co_return fail_at(PrepareStep::facts, lost_nodes());
  if (settings_.up_to == PrepareStep::facts) co_return;

  // From here on, a lost node ends the conversation: node_lost().
  MonotonicTime due = monotonic_now() + limit_within(spec_.timeouts.connect);
  nodes_.set_meeting(std::nullopt);
  if (settings_.adapt) {
    if (const Status adapted = settings_.adapt(spec_, nodes_.cluster()); !adapted)
      co_return fail_at(PrepareStep::plan, adapted.error());
  }

  // Where ranks can meet: the first node listens, the others try to connect.
  const auto meeting = nodes_to_meet(spec_, nodes_.cluster(), context_);
  if (settings_.try_meeting && meeting && !meeting->nodes.empty()) {  // make_plan finds its error
    reach_.begin(spec_, *meeting);
    co_await until(&Preparation::has_met);  // which has a limit of its own
    if (!*met_) {
      outcome_.unreached = reach_.failing();
      outcome_.one_of_these = reach_.either();
      co_return fail_at(PrepareStep::meeting, met_->error());
    }
    debug_log::info("the nodes meet at " + (*met_)->address + " (" + (*met_)->reason + ")");
    nodes_.set_meeting(std::move(**met_));
  }
  if (settings_.up_to == PrepareStep::meeting) co_return;

  auto plan = make_plan(spec_, nodes_.cluster(), context_);
  if (!plan) co_return fail_at(PrepareStep::plan, plan.error());
  outcome_.plan = std::move(*plan);
  if (settings_.up_to == PrepareStep::plan) co_return;

  // A staging that has lost a node must not go on beside the ranks, or beside a sync. If a node
  // lacks files, it brings the others what they need for the next one, where its errors, if any,
  // come again.
  if (is_staging_ && needs_staging()) {
    listener_.copying(true);
    co_await until(&Preparation::has_staged);  // which has limits of its own
    listener_.copying(false);
    due = monotonic_now() + limit_within(spec_.timeouts.connect);
  }
  end_staging();

  // The workdir goes first: it contains some of what the ranks need.
  const bool starts = settings_.up_to == PrepareStep::start;
  if (starts && needs_sync()) {
    begin_sync();
    co_await until(&Preparation::is_synced);  // which has limits of its own
    if (!*synced_report_) co_return fail_at(PrepareStep::start, synced_report_->error());
    take_sync(**synced_report_);
    due = monotonic_now() + limit_within(spec_.timeouts.connect);
  }
  const bool copies = settings_.up_to == PrepareStep::copies;
  if ((starts || copies) && needs_staging()) {
    listener_.copying(true);
    begin_staging();
    co_await until(&Preparation::has_staged);  // which has limits of its own
    if (!outcome_.lost.empty()) co_return fail_at(PrepareStep::facts, lost_while_staging());
    if (!staged_all_) co_return fail_at(PrepareStep::copies, staged_all_.error());
    take_staging();
    due = monotonic_now() + limit_within(spec_.timeouts.connect);
  }
  if (copies) co_return;

  // Both at once: what the ranks need, and the servers through which MPI ranks meet.
  ask_for_prerequisites();
  if (starts && needs_wire_up(*outcome_.plan)) {
    if (const Status asked = ask_for_pmix(); !asked)
      co_return fail_at(PrepareStep::start, asked.error());
  }
  co_await until(&Preparation::all_checked, left_until(due));
  outcome_.missing = missing_.by_node();
  if (!all_checked()) co_return fail_at(PrepareStep::prerequisites, too_late());
  settle();
}

void Preparation::begin(PlanContext context) {
  end_questions();
  context_ = std::move(context);
  outcome_ = {};
  met_.reset();
  synced_report_.reset();
  awaited_ = nullptr;
  talk_ = talk();
  go_on();
}

void Preparation::cancel() {
  end_questions();
  end_staging();
}

void Preparation::end_questions() {
  talk_ = {};
  limit_.cancel();
  reach_.cancel();
  sync_.cancel();
  // Questions to many nodes are many megabytes, which nothing needs while the ranks run.
  missing_ = MissingPrerequisites();
  pmix_ = PmixStart();
}

Coroutine::Wait Preparation::until(Condition holds) {
  limit_.cancel();
  is_late_ = false;
  awaited_ = holds;
  return {(this->*holds)()};
}

Coroutine::Wait Preparation::until(Condition holds, Duration limit) {
  const Coroutine::Wait wait = until(holds);
  if (wait.is_over) return wait;
  limit_.after(limit, [this] {
    is_late_ = true;
    go_on();
  });
  return wait;
}

void Preparation::go_on() {
  if (!talk_.is_waiting()) return;
  if (awaited_ != nullptr && !is_late_ && !(this->*awaited_)()) return;
  if (talk_.go_on()) end();
}

void Preparation::end() {
  end_questions();
  listener_.done(std::exchange(outcome_, {}));
}

void Preparation::fail_at(PrepareStep step, Error error) {
  outcome_.failed_at = step;
  outcome_.failure = std::move(error);
}

void Preparation::node_lost(NodeId node, const std::string& why) {
  facts_.erase(node);
  synced_.erase(node);
  staged_.erase(node);
  prerequisites_asked_.forget(node);
  pmix_asked_.forget(node);
  if (talk_.is_waiting()) {
    outcome_.lost.emplace(node, why);
    outcome_.conditions.erase(node);
    if (gathers_) {
      go_on();
    } else if (!is_staging_ || settings_.up_to != PrepareStep::copies) {
      fail_at(PrepareStep::facts, lost_nodes());
      end();
    }
  }
  staging_.node_lost(node);
}

// ---- facts

void Preparation::ask_for_facts() {
  for (const Node& node : nodes_.cluster().nodes) {
    const auto told = facts_.find(node.id);
    if (told == facts_.end()) {
      nodes_.connect(node.id, context_.attempt, Duration(0));
    } else if (told->second != context_.attempt) {
      nodes_.gather(node.id, context_.attempt);
    }
  }
}

void Preparation::facts_known(NodeId node, Attempt attempt) {
  facts_[node] = attempt;
  go_on();
}

bool Preparation::has_told(NodeId node) const {
  const auto told = facts_.find(node);
  return told != facts_.end() && told->second == context_.attempt;
}

bool Preparation::all_told() const {
  const auto& nodes = nodes_.cluster().nodes;
  return std::all_of(nodes.begin(), nodes.end(), [this](const Node& node) {
    return has_told(node.id) || outcome_.lost.contains(node.id);
  });
}

void Preparation::give_up_silent_nodes() {
  for (const Node& node : nodes_.cluster().nodes) {
    if (!has_told(node.id))
      outcome_.lost.emplace(node.id, wording::no_answer(spec_.timeouts.connect));
  }
}

Error Preparation::lost_nodes() const {
  std::vector<HostTrouble> hosts;
  for (const Node& node : nodes_.cluster().nodes) {
    const auto lost = outcome_.lost.find(node.id);
    if (lost != outcome_.lost.end()) hosts.push_back({node.name, lost->second});
  }
  return {exit_code::kNodeLost, trouble_text(hosts)};
}

// ---- the condition of the nodes

void Preparation::ask_for_conditions() {
  for (const Node& node : nodes_.cluster().nodes) {
    if (outcome_.lost.contains(node.id)) continue;
    wire::Inspect question =
        inspect_message(spec_, context_, *settings_.inspection, node.is_launcher);
    question.limit_ms = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(kInspection).count());
    nodes_.send(node.id, question);
  }
}

void Preparation::on(NodeId node, const wire::Inspected& answer) {
  if (!talk_.is_waiting() || !gathers_) return;
  outcome_.conditions[node] = answer.condition;
  go_on();
}

bool Preparation::all_inspected() const {
  const auto& nodes = nodes_.cluster().nodes;
  return std::all_of(nodes.begin(), nodes.end(), [this](const Node& node) {
    return outcome_.conditions.contains(node.id) || outcome_.lost.contains(node.id);
  });
}

void Preparation::give_up_inspections() {
  for (const Node& node : nodes_.cluster().nodes) {
    if (outcome_.conditions.contains(node.id) || outcome_.lost.contains(node.id)) continue;
    outcome_.conditions[node.id].problem = "its agent did not answer";
  }
}

// ---- what the ranks need

/// Before a start, only nodes with ranks are asked, and only if that is_worth_asking(). A check
/// asks all nodes: a spare has no ranks yet, but must have what the first node needs.
void Preparation::ask_for_prerequisites() {
  const bool starts = settings_.up_to == PrepareStep::start;
  const LaunchPlan& plan = *outcome_.plan;
  const LauncherFiles files = launcher_files(plan.workdir);
  const std::vector<std::string> staged = stage_targets(spec_, plan.workdir, home());
  // Before the staging there is no workdir, nor anything relative to it.
  if (!starts && is_staged(staged, plan.workdir)) return;
  std::map<NodeId, PrerequisiteQuestion> questions;
  bool is_worth_it = !starts || has_remote_nodes(plan);
  for (const Node& node : nodes_.cluster().nodes) {
    const auto rank = plan.find(node.id);
    if (starts && !rank) continue;
    PrerequisiteQuestion question =
        prerequisite_question(spec_, plan, rank.value_or(NodeRank()), files);
    if (!starts) leave_out(staged, question);
    is_worth_it = is_worth_it || is_worth_asking(question);
    questions.emplace(node.id, std::move(question));
  }
  if (!is_worth_it) return;
  for (const auto& [node, question] : questions) {
    prerequisites_asked_.add(node);
    nodes_.send(node, question.message);
  }
  missing_ = MissingPrerequisites(plan, nodes_.cluster(), syncs_workdir(spec_),
                                  !staged_items(spec_).empty(), std::move(questions));
}

Status Preparation::ask_for_pmix() {
  const LaunchPlan& plan = *outcome_.plan;
  const auto secret = random_secret();
  if (!secret) return tl::unexpected(secret.error());
  pmix_ = PmixStart(plan);
  wire::PreparePmix message = prepare_message(plan, spec_.mpi.pmi, *secret);
  for (const NodePlan& node : plan.nodes) {
    pmix_asked_.add(node.id);
    nodes_.send(node.id, message);
    ++message.own;
  }
  return {};
}

bool Preparation::Asked::is_answer_to_last(NodeId node) {
  const auto found = open_.find(node);
  if (found == open_.end() || --found->second > 0) return false;
  open_.erase(found);
  return true;
}

void Preparation::on(NodeId node, const wire::PrerequisitesMissing& answer) {
  if (!prerequisites_asked_.is_answer_to_last(node)) return;
  missing_.add(node, answer);
  go_on();
}

void Preparation::on(NodeId node, const wire::PmixReady& answer) {
  if (!pmix_asked_.is_answer_to_last(node)) return;
  pmix_.add(node, answer);
  go_on();
}

Error Preparation::too_late() const {
  const std::string limit = wording::duration(spec_.timeouts.connect);
  if (missing_.complete()) {
    return {exit_code::kPreflight,
            pmix_.awaited() + ": dlaunch-pmix was not ready within " + limit +
                ": the machine there is busy or short of memory, or the network is slow\n"
                "         try: --set timeouts.connect=2m"};
  }
  return {exit_code::kNodeLost,
          missing_.awaited() + ": no answer within " + limit +
              " to the check for what the ranks need: the network or a file system there is "
              "slow\n         try: --set timeouts.connect=2m"};
}

void Preparation::settle() {
  LaunchPlan& plan = *outcome_.plan;
  if (auto error = missing_.error()) {
    error->message += workdir_advice(missing_, spec_, context_, plan);
    return fail_at(PrepareStep::prerequisites, std::move(*error));
  }
  for (NodePlan& node : plan.nodes) node.python = missing_.python_of(node.id);
  for (std::string& text : missing_.notes()) plan.notes.push_back(std::move(text));
  if (spec_.mpi.pmi == Mpi::Pmi::automatic) {
    for (std::string& text : pmix_.notes()) plan.notes.push_back(std::move(text));
  } else if (auto error = pmix_.error()) {
    fail_at(PrepareStep::start, std::move(*error));
  }
}

}  // namespace dlaunch
