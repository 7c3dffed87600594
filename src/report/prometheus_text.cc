#include "report/prometheus_text.h"

#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Label = std::pair<std::string_view, std::string_view>;

// The states of a run; each has its own sample (0 or 1).
constexpr std::array<std::string_view, 7> kStates{
    "preparing", "running", "stopping", "waiting to restart", "done", "failed", "stopped"};

/// Appends the value as UTF-8 without control characters.
void append_label_value(std::string& out, std::string_view value) {
  for (const char c : plain_line(value)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

/// Milliseconds as a decimal number of seconds.
std::string seconds(std::uint64_t milliseconds) {
  return decimals(static_cast<double>(milliseconds) / 1000, 3);
}

class PrometheusText {
 public:
  explicit PrometheusText(const PrometheusInput& in) : in_(in), status_(in.status) {}

  std::string take() {
    write_run();
    if (in_.end.empty()) write_ranks();
    write_metrics();
    return std::move(out_);
  }

 private:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    out_.append("# HELP dlaunch_").append(name).append(" ").append(help).append("\n");
    out_.append("# TYPE dlaunch_").append(name).append(" ").append(type).append("\n");
  }

  void sample(const std::string& value, const std::vector<Label>& labels = {}) {
    out_.append("dlaunch_").append(name_).append("{run=\"");
    append_label_value(out_, status_.run);
    for (const auto& [label, text] : labels) {
      out_.append("\",").append(label).append("=\"");
      append_label_value(out_, text);
    }
    out_.append("\"} ").append(value).append("\n");
  }

  void write_run() {
    const std::string& state = in_.end.empty() ? status_.state : in_.end;
    family("run_info", "gauge", "The run; always 1.");
    sample("1", {{"job", status_.name}, {"launcher", in_.launcher}});
    family("run_state", "gauge", "1 for the state that the run is in, 0 for the others.");
    for (const std::string_view one : kStates) sample(one == state ? "1" : "0", {{"state", one}});
    family("run_seconds", "gauge", "Time since the run began.");
    sample(seconds(status_.run_ms));
    family("attempt", "gauge", "The attempt, 0 for the first.");
    sample(std::to_string(status_.attempt));
    family("restarts_total", "counter", "How often the ranks were restarted.");
    sample(std::to_string(status_.attempt));
    if (in_.exit_code) {
      family("exit_code", "gauge", "Exit code of dlaunch run.");
      sample(std::to_string(*in_.exit_code));
    }
    std::size_t waiting = 0;
    std::size_t ended = 0;
    for (const RankStatus& rank : status_.ranks) {
      if (!rank.end.empty()) {
        ++ended;
      } else if (!rank.started) {
        ++waiting;
      }
    }
    family("ranks", "gauge", "Ranks of the attempt by state.");
    sample(std::to_string(waiting), {{"state", "not started"}});
    sample(std::to_string(status_.ranks.size() - waiting - ended), {{"state", "running"}});
    sample(std::to_string(ended), {{"state", "ended"}});
  }

  /// Writes a sample for each rank for which `value` is not empty.
  void of_ranks(std::string_view name, std::string_view type, std::string_view help,
                const std::function<std::string(const RankStatus&)>& value) {
    family(name, type, help);
    for (std::size_t i = 0; i < status_.ranks.size(); ++i) {
      if (const std::string text = value(status_.ranks[i]); !text.empty()) of_rank(i, text);
    }
  }

  void of_rank(std::size_t i, const std::string& value, std::string_view metric = {}) {
    const RankStatus& rank = status_.ranks[i];
    const std::string number = std::to_string(i);
    std::vector<Label> labels{
        {"rank", number},
        {"role", i < in_.roles.size() ? std::string_view(in_.roles[i]) : std::string_view()},
        {"host", rank.node < status_.nodes.size() ? std::string_view(status_.nodes[rank.node].host)
                                                  : std::string_view()}};
    if (!metric.empty()) labels.emplace_back("metric", metric);
    sample(value, labels);
  }

  void write_ranks() {
    const auto is_seen = [](const RankStatus& rank) { return rank.pulse.processes > 0; };
    of_ranks("rank_up", "gauge", "1 while the rank runs.", [](const RankStatus& rank) {
      return std::string(rank.started && rank.end.empty() ? "1" : "0");
    });
    if (!status_.is_watched) return;
    of_ranks(
        "rank_quiet_seconds", "gauge", "Time since the rank last printed something.",
        [&](const RankStatus& rank) { return is_seen(rank) ? seconds(rank.pulse.quiet_ms) : ""; });
    of_ranks("rank_output_bytes_total", "counter", "Bytes that the rank printed.",
             [&](const RankStatus& rank) { return std::to_string(rank.pulse.output); });
    of_ranks("rank_cpu_seconds_total", "counter", "CPU time of the rank's processes.",
             [&](const RankStatus& rank) { return seconds(rank.pulse.cpu_ms); });
    of_ranks("rank_memory_bytes", "gauge", "Resident memory of the rank's processes.",
             [&](const RankStatus& rank) {
               return is_seen(rank) ? std::to_string(rank.pulse.memory) : "";
             });
    of_ranks("rank_gpu_ratio", "gauge", "Use of the rank's busiest GPU, 0 to 1.",
             [&](const RankStatus& rank) {
               return rank.pulse.gpu_percent < 0 ? "" : decimals(rank.pulse.gpu_percent / 100.0, 2);
             });
  }

  void write_metrics() {
    family("metric", "gauge", "The last number that a metric of the job found in the output.");
    for (std::size_t metric = 0; metric < status_.metrics.size(); ++metric) {
      for (std::size_t i = 0; i < status_.ranks.size(); ++i) {
        for (const MetricPulse& one : status_.ranks[i].pulse.metrics) {
          if (one.metric == metric) of_rank(i, one.value, status_.metrics[metric]);
        }
      }
    }
  }

  const PrometheusInput& in_;
  const StatusReply& status_;
  std::string_view name_;
  std::string out_;
};

}  // namespace

std::string prometheus_text(const PrometheusInput& input) {
  return PrometheusText(input).take();
}

}  // namespace dlaunch
