#include "launch/collect/collect_side.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "launch/collect/collect_settings.h"
#include "text/json_text.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::chrono::milliseconds kStep{200};  // between two looks at events.jsonl
constexpr Duration kNoticeable = std::chrono::seconds(2);
// Time kept free before Slurm kills the launcher, which still has to write the summary.
constexpr std::chrono::seconds kForSummary{10};
constexpr std::chrono::seconds kAbandoned{30};  // as for output, without a front to stop it
constexpr const char* kInterrupted = "interrupted";

}  // namespace

CollectSide::CollectSide(EventLoop& loop, const RunOptions& options, Nodes& nodes, RunStore& store,
                         Screen& screen)
    : loop_(loop),
      options_(options),
      nodes_(nodes),
      store_(store),
      screen_(screen),
      run_(loop, {.send = [this](NodeId node,
                                 const wire::ToAgent& message) { nodes_.send(node, message); },
                  .done = [this](CollectReport report) { report_ = std::move(report); },
                  .show = [this](std::string text) { screen_.show_status(std::move(text)); }}) {}

void CollectSide::tell(const Event& event) {
  if (const auto* lost = std::get_if<event::NodeLost>(&event)) {
    lost_[lost->node] = "was lost (" + lost->what + ")";
    run_.node_lost(lost->node, lost_[lost->node]);
  } else if (const auto* ready = std::get_if<event::NodeReady>(&event)) {
    lost_.erase(ready->node);
  } else if (std::holds_alternative<event::CancelSignal>(event)) {
    ++cancels_;
    run_.give_up(kInterrupted);
  } else if (const auto* deadline = std::get_if<event::Deadline>(&event)) {
    end_by(deadline->at - kForSummary, "the Slurm job is about to reach its time limit");
  } else if (std::holds_alternative<event::FrontGone>(event)) {
    end_by(monotonic_now() + kAbandoned, "the process that started the run is gone");
  }
}

void CollectSide::end_by(MonotonicTime at, const char* why) {
  if (until_ && *until_ <= at) return;
  until_ = at;
  why_ = why;
}

void CollectSide::watch_time() {
  const MonotonicTime now = monotonic_now();
  if (until_ && now >= *until_) return run_.give_up(why_);
  if (told_ || options_.quiet || now - began_ < kNoticeable) return;
  told_ = true;
  screen_.say("dlaunch: collecting files; Ctrl-C leaves the rest on the nodes");
}

void CollectSide::run(const LaunchPlan& plan) {
  const CollectPlace place{store_.folder().id(),
                           store_.folder().path(),
                           options_.current_folder,
                           plan.workdir,
                           find_variable(options_.environment, "HOME").value_or(""),
                           plan.nodes.size() > 1};
  std::vector<CollectNode> nodes;
  for (const NodePlan& node : plan.nodes) {
    const auto lost = lost_.find(node.id);
    nodes.push_back(
        {node.id, node.name, !node.is_remote, lost == lost_.end() ? "" : plain_line(lost->second)});
  }
  began_ = monotonic_now();
  run_.begin(collect_settings(options_.spec, place, nodes));
  if (cancels_ > 1) run_.give_up(kInterrupted);
  while (!report_) {
    watch_time();
    (void)store_.write_due();
    loop_.run_one(monotonic_now() + kStep);
  }
  tell_report(*report_);
}

void CollectSide::tell_report(const CollectReport& report) {
  for (const CollectedNode& node : report.nodes) {
    store_.note("collected", node.problem, [&node](JsonText& json) {
      json.key("node").number(node.node.value).key("files").number(node.files);
      json.key("bytes").number(node.bytes).key("received").number(node.received);
    });
  }
  for (const std::string& remark : remarks_on(report)) screen_.note(remark);
  const bool is_worth_a_line = report.took >= kNoticeable || options_.verbosity > 0;
  if (report.is_whole() && is_worth_a_line && !options_.quiet)
    screen_.say("dlaunch: " + collected_text(report));
}

}  // namespace dlaunch
