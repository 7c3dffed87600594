#include "report/html/run_story.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/json_values.h"
#include "runs/run_record.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using nlohmann::json;

constexpr double kLeastLength = 0.001;

std::uint32_t number(const json& event, const char* name) {
  return static_cast<std::uint32_t>(json_number(event, name).value_or(0));
}

struct KnownKind {
  std::string_view kind;
  Incident::Weight weight;
  const char* text;  // the member that says what happened
};
constexpr std::array kKinds{
    KnownKind{"node-lost", Incident::Weight::failure, "what"},
    KnownKind{"hang", Incident::Weight::failure, "what"},
    KnownKind{"plan-failed", Incident::Weight::failure, "message"},
    KnownKind{"rank-not-started", Incident::Weight::failure, "message"},
    KnownKind{"port-taken", Incident::Weight::failure, "holder"},
    KnownKind{"preempted", Incident::Weight::warning, "reason"},
    KnownKind{"stall", Incident::Weight::warning, "headline"},
    KnownKind{"cancel", Incident::Weight::warning, "signal"},
    KnownKind{"restart", Incident::Weight::warning, "cause"},
    KnownKind{"deadline", Incident::Weight::warning, ""},
    KnownKind{"front-gone", Incident::Weight::warning, ""},
    KnownKind{"node-added", Incident::Weight::note, "name"},
    KnownKind{"node-withdrawn", Incident::Weight::note, ""},
};
// Events that are too common to be incidents.
constexpr std::array<std::string_view, 10> kUsual{
    "node-ready", "plan-made", "rank-started", "rank-exited", "node-empty",
    "tick",       "copying",   "user-asked",   "gap",         "mpirun-ended"};

class StoryReader {
 public:
  StoryReader(const json& plan, const json& samples, WallTime started, WallTime ended, bool is_lost)
      : plan_(plan), samples_(samples), is_lost_(is_lost) {
    story_.started = started;
    story_.length = std::max(since_start(ended), kLeastLength);
  }

  void read(std::string_view events) {
    while (!events.empty()) {
      const auto event = parse_json_object(take_line(events));
      if (event) on(*event, json_string(*event, "event"));
    }
  }

  RunStory take() {
    for (Open& open : open_) {
      if (!open) continue;
      RankPeriod span = *std::exchange(open, std::nullopt);
      if (is_lost_) span.end = RankPeriod::End::lost;
      if (is_lost_) span.how = "was lost with the launcher";
      end_span(std::move(span), story_.length);
    }
    go_on(story_.length);
    const bool ran = phase_ == PhaseSpan::Kind::run || phase_ == PhaseSpan::Kind::stalled;
    const bool has_ended = ran && running_ == 0 && last_end_ > 0;
    if (has_ended) turn(PhaseSpan::Kind::stop, last_end_);
    turn(phase_, story_.length);
    if (!story_.attempts.empty()) story_.attempts.back().to = story_.length;
    std::stable_sort(story_.spans.begin(), story_.spans.end(), [](const auto& a, const auto& b) {
      return std::pair(a.attempt, a.rank) < std::pair(b.attempt, b.rank);
    });
    name_nodes();
    std::stable_sort(story_.incidents.begin(), story_.incidents.end(),
                     [](const Incident& a, const Incident& b) { return a.at < b.at; });
    return std::move(story_);
  }

 private:
  using Open = std::optional<RankPeriod>;

  [[nodiscard]] double since_start(WallTime at) const {
    return std::chrono::duration<double>(at - story_.started).count();
  }

  /// Clamped to the time of the run, because clocks of nodes are corrected only by a measured
  /// offset.
  [[nodiscard]] double time_in(const json& event, const char* name) const {
    const auto time = parse_time(json_string(event, name));
    return std::clamp(time ? since_start(*time) : last_, 0.0, story_.length);
  }

  void on(const json& event, const std::string& kind) {
    last_ = time_in(event, "time");
    go_on(last_);
    const double at = event.contains("at") ? time_in(event, "at") : last_;
    if (kind == "node-ready") ready_ = last_;
    if (kind == "plan-made") begin_attempt(event);
    if (kind == "rank-started") begin_rank(event, at);
    if (kind == "rank-exited") end_rank(event, at);
    if (kind == "node-lost") lose_node(event);
    if (kind == "stall") stall(event);
    if (kind == "cancel" || kind == "hang" || kind == "deadline") stop(last_);
    if (kind == "restart") {
      turn(PhaseSpan::Kind::wait, last_);
      turn(PhaseSpan::Kind::prepare,
           std::min(last_ + json_real(event, "wait_s", 0), story_.length));
    }
    if (!contains(kUsual, kind)) add_incident(event, kind, at);
  }

  void turn(PhaseSpan::Kind next, double at) {
    at = std::max(at, since_);
    const std::uint32_t attempt = story_.attempts.empty() ? 0 : story_.attempts.back().number;
    if (at > since_) story_.phases.push_back({phase_, attempt, since_, at});
    phase_ = next;
    since_ = at;
  }

  void stop(double at) {
    if (phase_ == PhaseSpan::Kind::start || phase_ == PhaseSpan::Kind::run ||
        phase_ == PhaseSpan::Kind::stalled)
      turn(PhaseSpan::Kind::stop, at);
  }

  /// Handles an event about a job without progress: begins a phase that lasts until it makes
  /// progress.
  void stall(const json& event) {
    const bool works = json_string(event, "verdict") == "working";
    if (works && phase_ == PhaseSpan::Kind::stalled) turn(PhaseSpan::Kind::run, last_);
    if (works || phase_ != PhaseSpan::Kind::run) return;
    turn(PhaseSpan::Kind::stalled, last_ - json_real(event, "silence_s", 0));
    moves_ = next_output(last_);
  }

  void go_on(double now) {
    if (phase_ == PhaseSpan::Kind::stalled && moves_ <= now) turn(PhaseSpan::Kind::run, moves_);
  }

  /// When ranks printed again, taken from the samples because events do not say it. Infinity:
  /// never.
  [[nodiscard]] double next_output(double after) const {
    const double step = std::max(json_real(samples_, "step_s", 1), 1.0);
    const auto first = static_cast<std::size_t>(after / step) + 1;
    std::size_t next = std::numeric_limits<std::size_t>::max();
    for (const json& node : json_member(samples_, "nodes")) {
      const json& output = json_member(node, "output");
      for (std::size_t row = first; row < std::min(output.size(), next); ++row) {
        const json& value = json_item(output, row);
        if (value.is_number() && value.get<double>() > 0) next = row;
      }
    }
    return next == std::numeric_limits<std::size_t>::max() ? std::numeric_limits<double>::infinity()
                                                           : step * static_cast<double>(next);
  }

  void begin_attempt(const json& event) {
    if (phase_ == PhaseSpan::Kind::connect) turn(PhaseSpan::Kind::prepare, ready_);
    turn(PhaseSpan::Kind::start, last_);
    if (!story_.attempts.empty()) story_.attempts.back().to = last_;
    story_.attempts.push_back({number(event, "attempt"), last_, story_.length, {}});
    nodes_.clear();
    for (const json& node : json_member(event, "node_of_rank"))
      nodes_.push_back(node.is_number_integer() ? node.get<std::int64_t>() : -1);
    nodes_of_attempts_.push_back(nodes_);
    for (const json& node : json_member(event, "nodes"))
      names_[number(node, "node")] = json_text_of(json_member(node, "name"));
    for (Open& open : open_) {
      if (open) end_span(*std::exchange(open, std::nullopt), last_);
    }
    open_.assign(nodes_.size(), std::nullopt);
    running_ = 0;
    started_ = 0;
    has_failed_ = false;
  }

  [[nodiscard]] Open* open_of(const json& event) {
    const std::uint32_t rank = number(event, "rank");
    const bool is_ours = !story_.attempts.empty() && rank < open_.size() &&
                         number(event, "attempt") == story_.attempts.back().number;
    return is_ours ? &open_[rank] : nullptr;
  }

  void begin_rank(const json& event, double at) {
    Open* const open = open_of(event);
    if (open == nullptr || *open) return;
    *open = RankPeriod{number(event, "attempt"), number(event, "rank"), at, at, {}, {}};
    ++running_;
    if (++started_ == open_.size() && phase_ == PhaseSpan::Kind::start)
      turn(PhaseSpan::Kind::run, last_);
  }

  void end_rank(const json& event, double at) {
    Open* const open = open_of(event);
    if (open == nullptr || !*open) return;
    RankPeriod span = *std::exchange(*open, std::nullopt);
    const std::string signal = json_string(event, "signal");
    const auto code = json_number(event, "code");
    span.how = signal.empty() ? "exited with code " + std::to_string(code.value_or(0))
                              : "was killed by " + signal;
    span.end = RankPeriod::End::done;
    if (json_boolean(event, "after_signal")) {
      span.end = RankPeriod::End::stopped;
      span.how += " after dlaunch had told it to stop";
    } else if (!signal.empty() || code.value_or(0) != 0) {
      span.end = RankPeriod::End::failed;
      stop(last_);
      if (!std::exchange(has_failed_, true))
        story_.incidents.push_back({at, Incident::Weight::failure, "rank-exited",
                                    "rank " + std::to_string(span.rank) + ' ' + span.how});
    }
    last_end_ = std::max(last_end_, at);
    end_span(std::move(span), at);
  }

  void end_span(RankPeriod span, double at) {
    span.to = std::max(at, span.from);
    story_.spans.push_back(std::move(span));
    if (running_ > 0) --running_;
  }

  void lose_node(const json& event) {
    const std::int64_t node = json_number(event, "node").value_or(-1);
    for (std::size_t rank = 0; rank < open_.size(); ++rank) {
      if (!open_[rank] || nodes_[rank] != node) continue;
      RankPeriod span = *std::exchange(open_[rank], std::nullopt);
      span.end = RankPeriod::End::lost;
      span.how = "was lost with its node";
      end_span(std::move(span), last_);
    }
    stop(last_);
  }

  void add_incident(const json& event, const std::string& kind, double at) {
    Incident incident{at, Incident::Weight::note, kind, json_string(event, "text")};
    const auto* const known = std::find_if(kKinds.begin(), kKinds.end(),
                                           [&](const KnownKind& one) { return one.kind == kind; });
    if (known != kKinds.end()) {
      incident.weight = known->weight;
      if (const std::string text = json_string(event, known->text); !text.empty())
        incident.text = text;
    }
    if (kind == "restart") incident.text = restart_text(event);
    if (kind == "port-taken")
      incident.text = "port " + std::to_string(number(event, "port")) + " of rank " +
                      std::to_string(number(event, "rank")) + " is held by " + incident.text;
    if (event.contains("node")) about_.emplace_back(story_.incidents.size(), number(event, "node"));
    story_.incidents.push_back(std::move(incident));
  }

  static std::string restart_text(const json& event) {
    std::string text = "attempt " + std::to_string(number(event, "attempt")) + " follows after " +
                       three_digits(json_real(event, "wait_s", 0)) + " s (" +
                       json_string(event, "cause");
    if (const auto first = json_number(event, "first"))
      text += ", rank " + std::to_string(*first) + " first";
    return text + ')';
  }

  /// Events of dlaunch before 1.0 have no names of nodes: those of the last attempt are in its
  /// plan, which numbers nodes differently.
  void name_nodes() {
    const json& nodes = json_member(plan_, "nodes");
    const json& ranks = json_member(plan_, "ranks");
    for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
      const auto place = json_real(json_item(ranks, rank), "node", -1);
      const json& node = json_item(nodes, static_cast<std::size_t>(std::clamp(place, 0.0, 1e9)));
      if (place >= 0) names_[nodes_[rank]] = json_text_of(json_member(node, "name"));
    }
    const auto name_for = [&](std::int64_t node) {
      const auto found = names_.find(node);
      return found == names_.end() || found->second.empty() ? "node " + std::to_string(node)
                                                            : found->second;
    };
    for (std::size_t i = 0; i < story_.attempts.size(); ++i) {
      for (const std::int64_t node : nodes_of_attempts_[i])
        story_.attempts[i].node_of_rank.push_back(name_for(node));
    }
    for (const auto& [index, node] : about_) {
      std::string& text = story_.incidents[index].text;
      const std::string name = name_for(node);
      if (text.find(name) == std::string::npos) text = name + (text.empty() ? "" : ": " + text);
    }
  }

  const json& plan_;
  const json& samples_;
  const bool is_lost_;
  RunStory story_;
  double last_ = 0;   // the time of the previous event
  double ready_ = 0;  // when the last node was ready
  PhaseSpan::Kind phase_ = PhaseSpan::Kind::connect;
  double since_ = 0;
  double moves_ = 0;                 // when a stall ends
  std::vector<std::int64_t> nodes_;  // node of each rank of the attempt
  std::map<std::int64_t, std::string> names_;  // of nodes, by index in the run
  std::vector<std::vector<std::int64_t>> nodes_of_attempts_;
  std::vector<Open> open_;  // running ranks of the attempt
  std::size_t running_ = 0;
  std::size_t started_ = 0;
  bool has_failed_ = false;
  double last_end_ = 0;                                      // when a rank last ended
  std::vector<std::pair<std::size_t, std::int64_t>> about_;  // incidents and their nodes
};

}  // namespace

const char* name_of(RankPeriod::End end) {
  constexpr std::array kNames{"running", "done", "failed", "stopped", "lost"};
  return kNames[static_cast<std::size_t>(end)];
}

const char* name_of(PhaseSpan::Kind kind) {
  constexpr std::array kNames{"connecting", "preparing", "starting", "running",
                              "stalled",    "stopping",  "waiting"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(Incident::Weight weight) {
  constexpr std::array kNames{"note", "warning", "failure"};
  return kNames[static_cast<std::size_t>(weight)];
}

RunStory read_story(std::string_view events, const json& plan, const json& samples,
                    WallTime started, WallTime ended, bool is_lost) {
  StoryReader reader(plan, samples, started, ended, is_lost);
  reader.read(events);
  return reader.take();
}

}  // namespace dlaunch
