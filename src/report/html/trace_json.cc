#include "report/html/trace_json.h"

#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "text/json_text.h"

namespace dlaunch {

namespace {

constexpr std::int64_t kRun = 1;  // the process for everything that belongs to no node
constexpr std::int64_t kPhases = 1;
constexpr std::int64_t kAttempts = 2;
constexpr std::int64_t kIncidents = 3;

class Trace {
 public:
  explicit Trace(const RunStory& story) : story_(story) {
    for (const StoryAttempt& attempt : story.attempts) attempts_.emplace(attempt.number, &attempt);
  }

  std::string text() {
    json_.begin_object().key("displayTimeUnit").string("ms").key("traceEvents").begin_array();
    name("process_name", kRun, 0, "run");
    name("thread_name", kRun, kPhases, "phases");
    name("thread_name", kRun, kAttempts, "attempts");
    name("thread_name", kRun, kIncidents, "incidents");
    for (const PhaseSpan& phase : story_.phases)
      span(kRun, kPhases, name_of(phase.kind), phase.from, phase.to);
    for (const StoryAttempt& attempt : story_.attempts)
      span(kRun, kAttempts, "attempt " + std::to_string(attempt.number), attempt.from, attempt.to);
    for (const Incident& incident : story_.incidents) mark(incident);
    ranks();
    json_.end_array().end_object();
    out_ += '\n';
    return std::move(out_);
  }

 private:
  static std::int64_t micros(double seconds) {
    constexpr double kMicros = 1e6;
    return std::llround(seconds * kMicros);
  }

  JsonText& begin(std::string_view kind, std::int64_t process, std::int64_t thread,
                  std::string_view what) {
    json_.line(0).begin_object().key("ph").string(kind).key("pid").number(process);
    return json_.key("tid").number(thread).key("name").string(what);
  }

  void name(std::string_view what, std::int64_t process, std::int64_t thread,
            std::string_view text) {
    begin("M", process, thread, what).key("args").begin_object().key("name").string(text);
    json_.end_object().end_object();
  }

  JsonText& begin_span(std::int64_t process, std::int64_t thread, std::string_view what,
                       double from, double to) {
    begin("X", process, thread, what).key("ts").number(micros(from));
    return json_.key("dur").number(micros(to - from));
  }

  void span(std::int64_t process, std::int64_t thread, std::string_view what, double from,
            double to) {
    begin_span(process, thread, what, from, to).end_object();
  }

  void mark(const Incident& incident) {
    begin("i", kRun, kIncidents, incident.kind).key("ts").number(micros(incident.at));
    json_.key("s").string("g").key("args").begin_object().key("text").string(incident.text);
    json_.end_object().end_object();
  }

  void ranks() {
    std::map<std::string, std::int64_t> nodes;  // by name
    std::set<std::pair<std::int64_t, std::uint32_t>> named;
    for (const RankPeriod& one : story_.spans) {
      const std::string node = node_of(one);
      const auto [place, is_new] = nodes.try_emplace(node, kRun + 1 + std::ssize(nodes));
      if (is_new) name("process_name", place->second, 0, node);
      if (named.emplace(place->second, one.rank).second)
        name("thread_name", place->second, one.rank + 1, "rank " + std::to_string(one.rank));
      begin_span(place->second, one.rank + 1, "attempt " + std::to_string(one.attempt), one.from,
                 one.to);
      json_.key("args").begin_object().key("end").string(name_of(one.end));
      json_.key("how").string(one.how).end_object().end_object();
    }
  }

  [[nodiscard]] std::string node_of(const RankPeriod& span) const {
    const auto attempt = attempts_.find(span.attempt);
    const bool is_known =
        attempt != attempts_.end() && span.rank < attempt->second->node_of_rank.size();
    return is_known ? attempt->second->node_of_rank[span.rank] : "?";
  }

  const RunStory& story_;
  std::map<std::uint32_t, const StoryAttempt*> attempts_;
  std::string out_;
  JsonText json_{out_};
};

}  // namespace

std::string trace_json(const RunStory& story) {
  return Trace(story).text();
}

}  // namespace dlaunch
