#include "report/status_text.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include "model/rank_list.h"
#include "report/runs_table.h"
#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostNodeLines = 8;
constexpr std::size_t kMostRemarks = 8;
constexpr std::uint32_t kNodeSilent = 15'000;  // milliseconds; a pulse comes every 10 s
constexpr std::uint32_t kPercent = 100;

std::string age_text(std::uint64_t ms) {
  return short_duration(std::chrono::milliseconds(static_cast<std::int64_t>(ms)));
}

struct Column {
  std::string title;
  bool right = true;
  std::vector<std::string> cells{};  // by row
};

/// The lines of the table: the titles, then the rows.
std::vector<std::string> lines_of(const std::vector<Column>& table, std::size_t columns) {
  std::vector<std::string> lines(1 + table.front().cells.size());
  for (const Column& column : table) {
    std::size_t width = utf8_length(column.title);
    for (const std::string& cell : column.cells) width = std::max(width, utf8_length(cell));
    for (std::size_t row = 0; row < lines.size(); ++row) {
      const std::string& cell = row == 0 ? column.title : column.cells[row - 1];
      const std::string space(width - utf8_length(cell), ' ');
      if (&column != &table.front()) lines[row] += "  ";
      lines[row] += column.right ? space + cell : cell + space;
    }
  }
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    line = cut_to_columns(line, columns);
  }
  return lines;
}

double number_of(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

const std::string* metric_of(const RankPulse& pulse, std::uint32_t metric) {
  const auto found = std::find_if(pulse.metrics.begin(), pulse.metrics.end(),
                                  [&](const MetricPulse& one) { return one.metric == metric; });
  return found == pulse.metrics.end() ? nullptr : &found->value;
}

/// "3/97/101": smallest, median and largest value; only one number if all have the same text.
template <class Number, class TextOf>
std::string spread(std::vector<Number> values, const TextOf& text_of) {
  if (values.empty()) return "-";
  std::sort(values.begin(), values.end());
  const std::string least = text_of(values.front());
  const std::string median = text_of(values[values.size() / 2]);
  const std::string most = text_of(values.back());
  if (least == most) return most;
  return least + '/' + median + '/' + most;
}

std::string number_text(std::uint64_t value) {
  return std::to_string(value);
}

bool is_running(const RankStatus& rank) {
  return rank.started && rank.end.empty();
}

/// "64 running", "63 running, 1 stopped"
std::string states_of(const std::vector<const RankStatus*>& ranks, bool is_watched) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const RankStatus* rank : ranks) {
    const std::string words = state_words(*rank, is_watched);
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& one) { return one.first == words; });
    found == counts.end() ? void(counts.emplace_back(words, 1)) : void(++found->second);
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return joined(counts, ", ",
                [](const auto& one) { return std::to_string(one.second) + ' ' + one.first; });
}

bool any_gpu(const StatusReply& reply) {
  return std::any_of(reply.ranks.begin(), reply.ranks.end(), [](const RankStatus& rank) {
    return rank.pulse.gpu_percent >= 0 || rank.pulse.gpu_memory > 0;
  });
}

bool any_heartbeat(const StatusReply& reply) {
  return std::any_of(reply.ranks.begin(), reply.ranks.end(),
                     [](const RankStatus& rank) { return rank.pulse.heartbeats > 0; });
}

std::string host_of(const StatusReply& reply, const RankStatus& rank) {
  return rank.node < reply.nodes.size() ? plain_line(reply.nodes[rank.node].host) : "-";
}

class RankRows {
 public:
  explicit RankRows(const StatusReply& reply) : reply_(reply) {}

  std::vector<Column> table() {
    column("rank", true,
           [](const RankStatus& one) { return std::to_string(one.pulse.rank.value); });
    column("host", false, [this](const RankStatus& one) { return host_of(reply_, one); });
    column("state", false, [this](const RankStatus& one) {
      return plain_line(state_words(one, reply_.is_watched));
    });
    if (!reply_.is_watched) return std::move(table_);
    column("output", true, [](const RankStatus& one) {
      return one.pulse.output == 0 ? "none" : age_text(one.pulse.quiet_ms);
    });
    if (any_heartbeat(reply_)) {
      column("beat", true, [](const RankStatus& one) {
        return one.pulse.heartbeats == 0 ? "none" : age_text(one.pulse.heartbeat_ms);
      });
    }
    for (std::uint32_t metric = 0; metric < reply_.metrics.size(); ++metric) {
      column(plain_line(reply_.metrics[metric]), true, [metric](const RankStatus& one) {
        const std::string* const value = metric_of(one.pulse, metric);
        return value == nullptr ? "-" : plain_line(*value);
      });
    }
    column("CPU %", true, [](const RankStatus& one) {
      return is_running(one) ? std::to_string(one.cpu_percent) : "-";
    });
    column("memory", true, [](const RankStatus& one) {
      return is_running(one) ? size_text(one.pulse.memory) : "-";
    });
    if (any_gpu(reply_)) {
      column("GPU %", true, [](const RankStatus& one) {
        return one.pulse.gpu_percent < 0 ? "-" : std::to_string(one.pulse.gpu_percent);
      });
      column("GPU mem", true, [](const RankStatus& one) {
        return one.pulse.gpu_memory == 0 ? "-" : size_text(one.pulse.gpu_memory);
      });
    }
    column("last line", false,
           [](const RankStatus& one) { return plain_line(one.pulse.last_line); });
    return std::move(table_);
  }

 private:
  template <class TextOf>
  void column(std::string title, bool right, const TextOf& text_of) {
    Column& column = table_.emplace_back(Column{std::move(title), right});
    for (const RankStatus& rank : reply_.ranks) column.cells.emplace_back(text_of(rank));
  }

  const StatusReply& reply_;
  std::vector<Column> table_;
};

class NodeRows {
 public:
  explicit NodeRows(const StatusReply& reply) : reply_(reply), ranks_(reply.nodes.size()) {
    for (const RankStatus& rank : reply.ranks) {
      if (rank.node < ranks_.size()) ranks_[rank.node].push_back(&rank);
    }
  }

  std::vector<Column> table() {
    using Ranks = std::vector<const RankStatus*>;
    column("node", false,
           [this](std::size_t node, const Ranks&) { return plain_line(reply_.nodes[node].host); });
    column("ranks", false, [](std::size_t, const Ranks& its) {
      std::vector<Rank> numbers;
      for (const RankStatus* rank : its) numbers.push_back(rank->pulse.rank);
      return rank_ranges(numbers, 16);
    });
    column("state", false, [this](std::size_t, const Ranks& its) {
      return plain_line(states_of(its, reply_.is_watched));
    });
    if (!reply_.is_watched) return std::move(table_);
    numbers("output", &age_text,
            [](const RankStatus& one) { return std::optional<std::uint64_t>(one.pulse.quiet_ms); });
    for (std::uint32_t metric = 0; metric < reply_.metrics.size(); ++metric) metric_column(metric);
    numbers("CPU %", &number_text, [](const RankStatus& one) {
      return is_running(one) ? std::optional<std::uint64_t>(one.cpu_percent) : std::nullopt;
    });
    column("memory", true, [](std::size_t, const Ranks& its) {
      std::uint64_t sum = 0;
      for (const RankStatus* rank : its) sum += rank->pulse.memory;
      return size_text(sum);
    });
    if (any_gpu(reply_)) {
      numbers("GPU %", &number_text, [](const RankStatus& one) {
        return one.pulse.gpu_percent < 0 ? std::nullopt
                                         : std::optional<std::uint64_t>(
                                               static_cast<std::uint64_t>(one.pulse.gpu_percent));
      });
      numbers("GPU mem", &size_text, [](const RankStatus& one) {
        return std::optional<std::uint64_t>(one.pulse.gpu_memory);
      });
    }
    return std::move(table_);
  }

 private:
  template <class TextOf>
  void column(std::string title, bool right, const TextOf& text_of) {
    Column& column = table_.emplace_back(Column{std::move(title), right});
    for (std::size_t node = 0; node < ranks_.size(); ++node)
      column.cells.emplace_back(text_of(node, ranks_[node]));
  }

  template <class TextOf, class ValueOf>
  void numbers(std::string title, const TextOf& text_of, const ValueOf& value_of) {
    column(std::move(title), true, [&](std::size_t, const std::vector<const RankStatus*>& its) {
      std::vector<std::uint64_t> values;
      for (const RankStatus* rank : its) {
        if (const auto value = value_of(*rank)) values.push_back(*value);
      }
      return spread(std::move(values), text_of);
    });
  }

  void metric_column(std::uint32_t metric) {
    column(plain_line(reply_.metrics[metric]), true,
           [metric](std::size_t, const std::vector<const RankStatus*>& its) {
             std::vector<std::pair<double, std::string>> values;
             for (const RankStatus* rank : its) {
               if (const std::string* value = metric_of(rank->pulse, metric))
                 values.emplace_back(number_of(*value), plain_line(*value));
             }
             return spread(std::move(values), [](const auto& one) { return one.second; });
           });
  }

  const StatusReply& reply_;
  std::vector<std::vector<const RankStatus*>> ranks_;  // by node
  std::vector<Column> table_;
};

std::string run_line(const StatusReply& reply) {
  std::string line = "run " + plain_line(reply.run);
  if (!reply.name.empty()) line += " (" + plain_line(reply.name) + ')';
  line += ": " + plain_line(reply.state) + ", started " + age_text(reply.run_ms) + " ago";
  if (reply.ranks.empty()) return line;
  return line + ", attempt " + std::to_string(reply.attempt) + " for " +
         age_text(reply.attempt_ms) + ", " + counted(reply.ranks.size(), "rank") + " on " +
         counted(reply.nodes.size(), "node");
}

/// "gpu01: 2.1 of 64 cores in use, 2100 MHz, 201 GB of memory free"
std::string node_line(const NodeStatus& node) {
  const NodePulse& pulse = node.pulse;
  std::string line = plain_line(node.host) + ": ";
  if (pulse.cores == 0) return line + "nothing heard yet";
  line += std::to_string(pulse.cpu_percent / kPercent) + '.' +
          std::to_string(pulse.cpu_percent % kPercent / 10) + " of " +
          counted(pulse.cores, "core") + " in use";
  if (pulse.mhz > 0) line += ", " + std::to_string(pulse.mhz) + " MHz";
  return line + ", " + size_text(pulse.memory_available) + " of memory free";
}

/// "spares: gpu05, gpu06 (not connected), gpu07 (checking)"
std::string spares_line(const std::vector<SpareStatus>& spares) {
  return (spares.size() == 1 ? "spare: " : "spares: ") +
         joined(spares, ", ", [](const SpareStatus& one) {
           return plain_line(one.host) +
                  (one.state == "ready" ? "" : " (" + plain_line(one.state) + ')');
         });
}

/// What is unusual about the nodes, one line for each remark.
std::vector<std::string> remarks_on(const StatusReply& reply) {
  constexpr std::uint32_t kStalled = 50;  // permille of the time
  std::vector<std::string> remarks;
  for (const NodeStatus& node : reply.nodes) {
    const std::string host = plain_line(node.host) + ": ";
    if (reply.is_watched && node.silent_ms > kNodeSilent)
      remarks.push_back(host + "nothing heard for " + age_text(node.silent_ms));
    if (node.pulse.memory_stall_permille >= kStalled) {
      remarks.push_back(host + "processes wait for memory " +
                        std::to_string(node.pulse.memory_stall_permille / 10) + " % of the time");
    }
    for (const std::string& remark : node.pulse.remarks)
      remarks.push_back(host + plain_line(remark));
  }
  if (remarks.size() > kMostRemarks) {
    const std::size_t left_out = remarks.size() - kMostRemarks;
    remarks.resize(kMostRemarks);
    remarks.push_back("and " + std::to_string(left_out) + " more");
  }
  return remarks;
}

void write_node(JsonText& json, const NodeStatus& node) {
  const NodePulse& pulse = node.pulse;
  json.line(2).begin_object().key("host").string(node.host);
  json.key("silent_ms").number(node.silent_ms).key("cpu_percent").number(pulse.cpu_percent);
  json.key("cores").number(pulse.cores).key("mhz").number(pulse.mhz);
  json.key("memory_available").number(static_cast<std::int64_t>(pulse.memory_available));
  json.key("memory_stall_permille").number(pulse.memory_stall_permille);
  json.key("remarks").begin_array();
  for (const std::string& remark : pulse.remarks) json.string(remark);
  json.end_array().end_object();
}

void write_rank(JsonText& json, const StatusReply& reply, const RankStatus& rank) {
  const RankPulse& pulse = rank.pulse;
  const auto number = [&](std::string_view key, std::uint64_t value) {
    json.key(key).number(static_cast<std::int64_t>(value));
  };
  json.line(2).begin_object().key("rank").number(pulse.rank.value);
  json.key("host").string(rank.node < reply.nodes.size() ? reply.nodes[rank.node].host : "");
  json.key("state").string(state_words(rank, reply.is_watched));
  json.key("started").boolean(rank.started).key("ended").boolean(!rank.end.empty());
  number("output_bytes", pulse.output);
  number("quiet_ms", pulse.quiet_ms);
  number("heartbeats", pulse.heartbeats);
  json.key("heartbeat_ms");
  pulse.heartbeats > 0 ? json.number(pulse.heartbeat_ms) : json.null();
  json.key("metrics").begin_object();
  for (std::uint32_t metric = 0; metric < reply.metrics.size(); ++metric) {
    if (const std::string* value = metric_of(pulse, metric))
      json.key(reply.metrics[metric]).real(number_of(*value));
  }
  json.end_object();
  number("cpu_percent", rank.cpu_percent);
  number("cpu_ms", pulse.cpu_ms);
  number("io_bytes", pulse.io_bytes);
  number("switches", pulse.switches);
  number("memory", pulse.memory);
  number("processes", pulse.processes);
  json.key("process_state").string(pulse.state);
  json.key("gpu_percent");
  pulse.gpu_percent >= 0 ? json.number(pulse.gpu_percent) : json.null();
  number("gpu_memory", pulse.gpu_memory);
  json.key("last_line").string(pulse.last_line).end_object();
}

}  // namespace

void write_spares(JsonText& json, const std::vector<SpareStatus>& spares) {
  json.begin_array();
  for (const SpareStatus& one : spares) {
    json.begin_object().key("host").string(one.host).key("state").string(one.state).end_object();
  }
  json.end_array();
}

std::string state_words(const RankStatus& rank, bool is_watched) {
  constexpr std::uint32_t kBusy = 2;  // percent; a lower CPU use is only housekeeping
  if (!rank.end.empty()) return rank.end;
  if (!rank.started) return "not started";
  if (!is_watched || rank.pulse.state.empty()) return "started";
  switch (rank.pulse.state.front()) {
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'D':
      return "in the kernel";
    case 'Z':
    case 'X':
      return "ended";
    default:
      return rank.cpu_percent >= kBusy ? "running" : "waiting";
  }
}

ScreenPage status_page(const StatusReply& reply, std::size_t columns) {
  ScreenPage lines;
  const auto add = [&](const std::string& line) {
    lines.head.push_back(cut_to_columns(line, columns));
  };
  add(run_line(reply));
  if (reply.ranks.empty()) return lines;
  if (!reply.is_watched) add("ranks are not watched: the job has `watch.after: none`");
  if (reply.is_watched && reply.nodes.size() <= kMostNodeLines) {
    for (const NodeStatus& node : reply.nodes) add(node_line(node));
  }
  if (!reply.spares.empty()) add(spares_line(reply.spares));
  for (const std::string& remark : remarks_on(reply)) add(remark);
  add("");
  const std::vector<Column> table =
      reply.ranks.size() < kNodeRows ? RankRows(reply).table() : NodeRows(reply).table();
  lines.rows = lines_of(table, columns);
  lines.head.push_back(std::move(lines.rows.front()));
  lines.rows.erase(lines.rows.begin());
  return lines;
}

std::string status_text(const StatusReply& reply, std::size_t columns) {
  const ScreenPage lines = status_page(reply, columns);
  std::string text;
  for (const auto* part : {&lines.head, &lines.rows}) {
    for (const std::string& line : *part) text += line + '\n';
  }
  return text;
}

std::string status_json(const StatusReply& reply) {
  std::string out;
  JsonText json(out);
  json.begin_object().key("version").number(1).key("run").string(reply.run);
  json.key("name").string(reply.name).key("state").string(reply.state);
  json.key("attempt").number(reply.attempt);
  json.key("run_ms").number(static_cast<std::int64_t>(reply.run_ms));
  json.key("attempt_ms").number(static_cast<std::int64_t>(reply.attempt_ms));
  json.key("watched").boolean(reply.is_watched).key("nodes").begin_array();
  for (const NodeStatus& node : reply.nodes) write_node(json, node);
  json.line(0).end_array().key("ranks").begin_array();
  for (const RankStatus& rank : reply.ranks) write_rank(json, reply, rank);
  json.line(0).end_array().key("spares");
  write_spares(json, reply.spares);
  json.end_object();
  return out;
}

}  // namespace dlaunch
