#include "report/metrics.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "report/metric_number.h"
#include "runs/rank_stream.h"
#include "text/metric_pattern.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// If every line matches, a pattern needs a second for 100 MiB.
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMostOfAll = 128 * kMebibyte;
constexpr std::uint64_t kMostOfOne = 64 * kMebibyte;
constexpr std::uint64_t kLeastOfOne = kMebibyte / 4;

/// Finds the matches of every pattern in one stream.
std::vector<MetricMatches> find_in(RankStream stream, std::uint64_t most,
                                   const std::vector<MetricPattern>& patterns) {
  constexpr std::size_t kLongestLine = 65536;
  std::vector<MetricMatches> found(patterns.size());
  const auto find = [&](std::string& lines) {
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i].find(lines, found[i]);
  };
  const auto skipped = stream.skip_to_last_bytes(most);
  if (!skipped) return found;
  bool begins_inside = *skipped;  // reading begins in the middle of a line, perhaps of a number
  std::string waiting;            // whole lines, then a line whose end has not been read
  while (true) {
    const auto bytes = stream.next();
    if (!bytes || bytes->empty()) break;
    waiting += *bytes;
    const std::size_t end = waiting.find_last_of("\r\n");
    const std::size_t rest = waiting.size() - (end == std::string::npos ? 0 : end + 1);
    if (end == std::string::npos && rest < kLongestLine) continue;
    std::string lines = waiting.substr(0, rest < kLongestLine ? end + 1 : waiting.size());
    waiting.erase(0, lines.size());
    if (begins_inside) lines.erase(0, lines.find_first_of("\r\n"));
    begins_inside = false;
    find(lines);
  }
  if (!begins_inside) find(waiting);
  return found;
}

void add(Metric& metric, Rank rank, Stream stream, const MetricMatches& found) {
  if (metric.not_numbers == 0) metric.not_number = found.not_number;
  metric.not_numbers += found.not_numbers;
  const bool is_known = !metric.ranks.empty() && metric.ranks.back().rank == rank;
  if (found.matches == 0 || is_known) return;
  metric.ranks.push_back(
      {rank, stream, found.matches, found.values.back(), steady_value(found.values)});
}

constexpr std::size_t kLongestName = 60;
constexpr std::array<std::string_view, 10> kWatched{
    "loss", "perplexity", "ppl", "norm", "acc", "error", "reward", "score", "nll", "metric"};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/';
}

/// Where the name that belongs to the value at `value` begins; npos: not a quantity that training
/// watches.
std::size_t name_of_value(std::string_view text, std::size_t value) {
  std::size_t end = value;
  while (end > 0 && std::string_view(" \t:='\"-+").find(text[end - 1]) != std::string_view::npos)
    --end;
  constexpr std::string_view kTensor = "tensor(";
  if (text.substr(0, end).ends_with(kTensor)) return name_of_value(text, end - kTensor.size());
  std::size_t begin = end;
  while (begin > 0 && end - begin < kLongestName && is_word(text[begin - 1])) --begin;
  const std::string name = lower(text.substr(begin, end - begin));
  const bool watched =
      end < value && std::any_of(kWatched.begin(), kWatched.end(), [&](std::string_view one) {
        return name.find(one) != std::string::npos;
      });
  return watched ? begin : std::string_view::npos;
}

}  // namespace

std::string metric_number(double value) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%.6g", value));
  return text;
}

std::vector<Metric> read_metrics(const std::string& attempt_folder, std::uint32_t ranks,
                                 const std::map<std::string, std::string>& patterns) {
  std::vector<Metric> metrics;
  std::vector<MetricPattern> compiled;
  for (const auto& [name, pattern] : patterns) {
    metrics.push_back({name, {}, 0, {}});
    compiled.emplace_back(pattern);
  }
  if (metrics.empty()) return metrics;
  const std::uint64_t share = kMostOfAll / (2 * std::max<std::uint64_t>(ranks, 1));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (const Stream stream : {Stream::out, Stream::err}) {
      const auto found = find_in(RankStream(attempt_folder, Rank(rank), stream),
                                 std::clamp(share, kLeastOfOne, kMostOfOne), compiled);
      for (std::size_t i = 0; i < metrics.size(); ++i)
        add(metrics[i], Rank(rank), stream, found[i]);
    }
  }
  return metrics;
}

std::string metric_line(const Metric& metric) {
  constexpr std::size_t kColumns = 40;
  std::string line = cut_to_columns(plain_line(metric.name), kColumns);
  if (metric.ranks.empty()) {
    line += metric.not_numbers == 0
                ? ": no line of the output matches its pattern"
                : ": what its group matched is not a number (\"" +
                      cut_to_columns(plain_line(metric.not_number), kColumns) + "\")";
    return line;
  }
  line += ' ' + metric_number(metric.ranks.front().last);
  if (metric.ranks.size() == 1) {
    const Rank only = metric.ranks.front().rank;
    return only.value == 0 ? line : line + " (rank " + std::to_string(only.value) + ')';
  }
  const auto [least, most] =
      std::minmax_element(metric.ranks.begin(), metric.ranks.end(),
                          [](const RankMetric& a, const RankMetric& b) { return a.last < b.last; });
  return line + " (rank " + std::to_string(metric.ranks.front().rank.value) + "; " +
         metric_number(least->last) + " to " + metric_number(most->last) + " on " +
         std::to_string(metric.ranks.size()) + " ranks)";
}

void write_metrics(JsonText& json, const std::vector<Metric>& metrics, std::size_t indent) {
  json.begin_array();
  for (const Metric& metric : metrics) {
    json.line(indent + 2).begin_object().key("name").string(metric.name);
    json.key("not_numbers").number(static_cast<std::int64_t>(metric.not_numbers));
    json.key("ranks").begin_array();
    for (const RankMetric& one : metric.ranks) {
      json.line(indent + 4).begin_object().key("rank").number(one.rank.value);
      json.key("stream").string(one.stream == Stream::out ? "out" : "err");
      json.key("matches").number(static_cast<std::int64_t>(one.matches));
      json.key("last").real(one.last).key("steady").real(one.steady).end_object();
    }
    if (!metric.ranks.empty()) json.line(indent + 2);
    json.end_array().end_object();
  }
  if (!metrics.empty()) json.line(indent);
  json.end_array();
}

std::optional<std::string> printed_nan(std::string_view text) {
  constexpr std::string_view kNan = "nan";
  for (const std::string_view spelled : {std::string_view("nan"), std::string_view("NaN")}) {
    for (std::size_t at = text.rfind(spelled); at != std::string_view::npos;
         at = at == 0 ? std::string_view::npos : text.rfind(spelled, at - 1)) {
      const std::size_t end = at + kNan.size();
      if ((at > 0 && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]))) continue;
      const std::size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
      const std::size_t name = name_of_value(text.substr(line), at - line);
      if (name != std::string_view::npos)
        return plain_line(text.substr(line + name, end - line - name));
    }
  }
  return std::nullopt;
}

std::vector<std::string> nan_metrics(const std::vector<Metric>& metrics) {
  std::vector<std::string> notes;
  for (const Metric& metric : metrics) {
    const std::string text = lower(metric.not_number);
    const bool is_value = text.ends_with("nan") || text.ends_with("inf");
    if (metric.not_numbers == 0 || metric.ranks.empty() || !is_value) continue;
    notes.push_back(std::to_string(metric.not_numbers) +
                    (metric.not_numbers == 1 ? " value of" : " values of") + " the metric " +
                    plain_line(metric.name) + (metric.not_numbers == 1 ? " is" : " are") +
                    " not a number (\"" + plain_line(metric.not_number) + "\")");
  }
  return notes;
}

}  // namespace dlaunch
