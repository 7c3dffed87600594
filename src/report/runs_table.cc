#include "report/runs_table.h"

#include <algorithm>
#include <array>

#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastName = 8;
enum Column : std::size_t { id, name, state, ranks, started, took, slurm, exit_code_of, kCount };
using Row = std::array<std::string, kCount>;

std::string two(std::int64_t number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

/// If there is no run.json, the start comes from the run's id, to the second.
std::optional<WallTime> start_of(const RunView& run) {
  if (run.witness.record) return run.witness.record->started;
  if (!is_run_id(run.id)) return std::nullopt;
  const std::string& id = run.id;
  const auto parsed =
      parse_time(id.substr(0, 4) + '-' + id.substr(4, 2) + '-' + id.substr(6, 2) + 'T' +
                 id.substr(9, 2) + ':' + id.substr(11, 2) + ':' + id.substr(13, 2) + 'Z');
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::string how(const RunView& run) {
  if (run.witness.ending) return ending_code(*run.witness.ending);
  if (run.state == RunState::unknown && run.witness.record)
    return "on " + plain_line(run.witness.record->host);
  return "-";
}

/// "17 running"
std::string slurm_text(const RunView& run) {
  if (!run.witness.record || run.witness.record->slurm_job.empty()) return "-";
  std::string text = plain_line(run.witness.record->slurm_job);
  if (run.slurm_state.empty()) return text;
  text += ' ';
  for (const char c : plain_line(run.slurm_state))
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// Removes the column if it is empty for all runs.
void leave_out_slurm(std::vector<Row>& rows) {
  const bool used =
      std::any_of(rows.begin() + 1, rows.end(), [](const Row& row) { return row[slurm] != "-"; });
  if (used) return;
  for (Row& row : rows) row[slurm].clear();
}

Row row_of(const RunView& run, WallTime now, const std::function<DateParts(WallTime)>& local) {
  const auto start = start_of(run);
  return {run.id,
          run.name.empty() ? "-" : plain_line(run.name),
          name_of(run.state),
          run.ranks ? std::to_string(*run.ranks) : "-",
          start ? started_text(*start, now, local) : "-",
          run.duration ? short_duration(*run.duration) : "-",
          slurm_text(run),
          how(run)};
}

void append_row(std::string& out, const Row& row, const std::array<std::size_t, kCount>& widths) {
  std::string line;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (widths[i] == 0) continue;
    const std::string cell = cut_to_columns(row[i], widths[i]);
    const std::string space(widths[i] - std::min(widths[i], utf8_length(cell)), ' ');
    const bool right = i == ranks;
    line += (right ? space + cell : cell + space) + std::string(kGap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

void write_left(JsonText& json, const std::vector<LeftOutput>& left) {
  if (left.empty()) return;
  json.key("output_on_nodes").begin_array();
  for (const LeftOutput& one : left) {
    json.begin_object().key("node").string(one.node).key("folder").string(one.folder);
    json.key("ranks").begin_array();
    for (const Rank rank : one.ranks) json.number(rank.value);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

std::string started_text(WallTime time, WallTime now,
                         const std::function<DateParts(WallTime)>& local) {
  static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const DateParts at = local(time);
  const DateParts today = local(now);
  if (at.year != today.year)
    return std::to_string(at.year) + '-' + two(at.month) + '-' + two(at.day);
  if (at.month == today.month && at.day == today.day) return two(at.hour) + ':' + two(at.minute);
  return std::string(kMonths[static_cast<std::size_t>(at.month - 1)]) + ' ' + two(at.day);
}

std::string short_duration(std::chrono::nanoseconds duration) {
  using namespace std::chrono;
  const std::int64_t tenths = (duration + milliseconds(50)) / milliseconds(100);
  if (tenths < 600) return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + 's';
  const std::int64_t seconds_all = (duration + milliseconds(500)) / seconds(1);
  if (seconds_all < 3600)
    return std::to_string(seconds_all / 60) + 'm' + two(seconds_all % 60) + 's';
  const std::int64_t minutes_all = seconds_all / 60;
  if (minutes_all < 24 * 60)
    return std::to_string(minutes_all / 60) + 'h' + two(minutes_all % 60) + 'm';
  const std::int64_t hours_all = minutes_all / 60;
  return std::to_string(hours_all / 24) + 'd' + two(hours_all % 24) + 'h';
}

std::string runs_table(const std::vector<RunView>& runs, WallTime now,
                       const std::function<DateParts(WallTime)>& local) {
  std::vector<Row> rows{{"run", "name", "state", "ranks", "started", "took", "slurm", "exit"}};
  for (const RunView& run : runs) rows.push_back(row_of(run, now, local));
  leave_out_slurm(rows);
  std::array<std::size_t, kCount> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kCount; ++i)
      widths[i] = std::max({widths[i], utf8_length(row[i]), row[i].empty() ? 0 : std::size_t{4}});
  }
  std::size_t all = kGap * (kCount - (widths[slurm] == 0 ? 2 : 1));
  for (const std::size_t width : widths) all += width;
  for (const Column gives : {name, exit_code_of, slurm}) {
    if (all <= kColumns || widths[gives] <= kLeastName) continue;
    const std::size_t less = std::min(all - kColumns, widths[gives] - kLeastName);
    widths[gives] -= less;
    all -= less;
  }
  std::string out;
  for (const Row& row : rows) append_row(out, row, widths);
  return out;
}

std::string runs_json(const std::vector<RunView>& runs) {
  std::string out;
  JsonText json(out);
  const auto text = [&](std::string_view key, const std::string& value) {
    json.key(key);
    value.empty() ? json.null() : json.string(value);
  };
  json.begin_array();
  for (const RunView& run : runs) {
    const auto& record = run.witness.record;
    const auto& ending = run.witness.ending;
    json.line(2).begin_object();
    text("run", run.id);
    text("path", run.path);
    text("name", run.name);
    text("state", name_of(run.state));
    json.key("ranks");
    run.ranks ? json.number(*run.ranks) : json.null();
    const auto start = start_of(run);
    text("started", start ? time_text(*start) : "");
    json.key("duration_s");
    run.duration ? json.billionths(run.duration->count()) : json.null();
    json.key("exit_code");
    ending ? json.number(ending->exit_code) : json.null();
    text("cause", ending ? ending->cause : "");
    json.key("first");
    ending && ending->first ? json.number(*ending->first) : json.null();
    text("host", record ? record->host : "");
    text("folder", record ? record->folder : "");
    if (record && !record->slurm_job.empty()) {
      text("slurm_job", record->slurm_job);
      text("slurm_state", run.slurm_state);
    }
    json.key("detached").boolean(record && record->detached);
    json.key("engine_pid");
    record&& is_live(run.state) ? json.number(record->engine.pid) : json.null();
    text("text", state_text(run));
    write_left(json, run.left);
    json.end_object();
  }
  if (!runs.empty()) json.line(0);
  json.end_array();
  out += '\n';
  return out;
}

}  // namespace dlaunch
