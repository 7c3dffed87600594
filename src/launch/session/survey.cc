#include "launch/session/survey.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include <unistd.h>

#include "launch/session/cluster_sessions.h"
#include "launch/session/inspect_message.h"
#include "launch/session/place_question.h"
#include "launch/session/reach_check.h"
#include "os/clock.h"
#include "os/containment.h"
#include "os/descriptors.h"
#include "os/signals.h"
#include "os/unique_fd.h"
#include "plan/make_plan.h"
#include "supervise/wording.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kGoodbye{2};
constexpr std::chrono::seconds kInspection{20};
// Time for the answer to arrive.
constexpr std::chrono::seconds kOnTheWay{5};

class Surveyor {
 public:
  Surveyor(EventLoop& loop, const JobSpec& spec, const PlanContext& context,
           const SurveyOptions& options, LocalStart local)
      : loop_(loop),
        spec_(spec),
        context_(context),
        options_(options),
        sessions_(loop, spec, std::move(local), listener()),
        reach_(loop,
               {.send = [this](NodeId node,
                               const wire::ToAgent& message) { sessions_.send(node, message); },
                .done = [this](Result<Meeting> meeting) { met_ = std::move(meeting); }}) {
    survey_.nodes.resize(sessions_.size());
  }

  Survey run() {
    connect();
    inspect();
    meet();
    check_prerequisites();
    read_clocks();
    return finish();
  }

  void part(const std::set<pid_t>& before) {
    sessions_.release_all();
    const MonotonicTime goodbye = monotonic_now() + kGoodbye;
    while (!sessions_.all_ended() && monotonic_now() < goodbye) loop_.run_one(goodbye);
    sessions_.reap_processes(before);
  }

 private:
  NodeListener listener() {
    return {.on_message =
                [this](NodeId node, const wire::FromAgent& message) {
                  std::visit([&](const auto& one) { on(node, one); }, message);
                },
            .on_news =
                [this](NodeId node, const NodeNews& news) {
                  if (const auto* lost = std::get_if<event::NodeLost>(&news))
                    survey_.nodes[node.value].failure = lost->what;
                }};
  }

  void on(NodeId node, const wire::Facts&) { ready_.insert(node.value); }
  void on(NodeId node, const wire::OneOf<wire::ReachAnswer> auto& answer) {
    reach_.on(node, answer);
  }
  void on(NodeId node, const wire::Inspected& answer) {
    survey_.nodes[node.value].condition = answer.condition;
    inspected_.insert(node.value);
  }
  void on(NodeId node, const wire::PlacesMissing& answer) {
    std::vector<std::string>& missing = survey_.nodes[node.value].missing;
    for (const StartFailure& failure : answer.missing) missing.push_back(describe(failure));
    const std::vector<EnvironmentUse>& uses = uses_[node.value];
    for (std::size_t i = 0; i < uses.size() && i < answer.found.size(); ++i) {
      std::string lost = lost_environment(uses[i], answer.found[i], answer.folders);
      if (!lost.empty()) missing.push_back(std::move(lost));
    }
    placed_.insert(node.value);
  }
  void on(NodeId, const wire::OneOf<wire::SyncAnswer> auto&) {}
  void on(NodeId, const wire::PmixReady&) {}
  void on(NodeId, const wire::OneOf<wire::RunMessages> auto&) {}
  void on(NodeId, const wire::OneOf<wire::SessionMessages> auto&) {}
  void on(NodeId, const wire::Notice&) {}

  [[nodiscard]] bool is_good(std::uint32_t node) const {
    return ready_.contains(node) && survey_.nodes[node].failure.empty();
  }
  [[nodiscard]] bool all_good() const {
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      if (!is_good(i)) return false;
    }
    return true;
  }
  /// Until each good node has answered.
  void wait_for(const std::set<std::uint32_t>& answers, MonotonicTime end) {
    const auto complete = [&] {
      for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
        if (is_good(i) && !answers.contains(i)) return false;
      }
      return true;
    };
    while (!complete() && monotonic_now() < end) loop_.run_one(end);
  }

  void connect() {
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) sessions_.connect(NodeId(i));
    const auto known = [&] {
      for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
        if (!ready_.contains(i) && survey_.nodes[i].failure.empty()) return false;
      }
      return true;
    };
    const MonotonicTime end = monotonic_now() + spec_.timeouts.connect;
    while (!known() && monotonic_now() < end) loop_.run_one(end);
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      CheckedNode& node = survey_.nodes[i];
      if (!ready_.contains(i) && node.failure.empty())
        node.failure = wording::no_answer(spec_.timeouts.connect);
    }
  }

  void inspect() {
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      if (!is_good(i)) continue;
      const bool is_launcher = sessions_.cluster().nodes[i].is_launcher;
      wire::Inspect question = inspect_message(spec_, context_, options_, is_launcher);
      question.limit_ms = static_cast<std::uint32_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(kInspection).count());
      sessions_.send(NodeId(i), question);
    }
    wait_for(inspected_, monotonic_now() + kInspection + kOnTheWay);
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      if (is_good(i) && !inspected_.contains(i))
        survey_.nodes[i].condition.problem = "its agent has not answered";
    }
  }

  /// Only for all nodes together: which of them remain is a question for another job.
  void meet() {
    if (!options_.reach || !all_good()) return;
    const auto nodes = nodes_to_meet(spec_, sessions_.cluster(), context_);
    if (!nodes || *nodes == 0) return;  // making the plan finds the same error
    reach_.begin(spec_, sessions_.cluster(), *nodes);
    while (!met_ && all_good()) loop_.run_one();
    if (!met_) return;
    if (*met_) return sessions_.set_meeting(**met_);
    survey_.no_meeting = met_->error().message;
    survey_.unreached = reach_.failing();
  }

  void check_prerequisites() {
    if (!options_.places || !all_good() || !survey_.no_meeting.empty()) return;
    const auto plan = make_plan(spec_, sessions_.cluster(), context_);
    if (!plan) {
      survey_.no_plan = plan.error().message;
      return;
    }
    const LauncherFiles files = launcher_files(plan->workdir);
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      // A spare has no ranks yet; it must have what the first node needs.
      const NodeRank like(i < plan->nodes.size() ? i : 0);
      PlaceQuestion question = place_question(spec_, *plan, like, files);
      uses_[i] = std::move(question.uses);
      sessions_.send(NodeId(i), question.message);
    }
    wait_for(placed_, monotonic_now() + spec_.timeouts.connect);
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      if (is_good(i) && !placed_.contains(i))
        survey_.nodes[i].missing.emplace_back(
            "it has not answered whether what the ranks need is there");
    }
  }

  void read_clocks() {
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      const NodeClock* const clock = sessions_.clock(NodeId(i));
      if (!is_good(i) || clock == nullptr || clock->error() >= NodeClock::kUnknown) continue;
      survey_.nodes[i].clock_offset_ns = clock->offset().count();
      survey_.nodes[i].clock_error_ns = clock->error().count();
    }
  }

  Survey finish() {
    survey_.cluster = sessions_.cluster();
    for (std::uint32_t i = 0; i < sessions_.size(); ++i) {
      survey_.nodes[i].name = survey_.cluster.nodes[i].name;
      survey_.nodes[i].facts = survey_.cluster.nodes[i].facts;
    }
    return std::move(survey_);
  }

  EventLoop& loop_;
  const JobSpec& spec_;
  const PlanContext& context_;
  const SurveyOptions options_;
  Survey survey_;
  std::set<std::uint32_t> ready_, inspected_, placed_;
  std::map<std::uint32_t, std::vector<EnvironmentUse>> uses_;  // by node
  std::optional<Result<Meeting>> met_;
  ClusterSessions sessions_;
  ReachCheck reach_;
};

}  // namespace

Result<Survey> survey_nodes(const JobSpec& spec, const PlanContext& context,
                            const SurveyOptions& options) {
  ensure_standard_descriptors();
  // SIGPIPE: an agent that is gone is an error to report, and must not end us.
  block_signals({SIGCHLD, SIGPIPE});
  become_subreaper();
  const std::vector<pid_t> before = children_of(::getpid());
  auto local = fork_local_agents(spec);
  if (!local) return tl::unexpected(local.error());
  EventLoop loop;
  Surveyor surveyor(loop, spec, context, options, std::move(*local));
  Survey survey = surveyor.run();
  surveyor.part({before.begin(), before.end()});
  return survey;
}

}  // namespace dlaunch
