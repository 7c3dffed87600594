#include "measure/figures/pair_table.h"

#include <algorithm>
#include <cmath>

#include "measure/figures/sizes.h"
#include "measure/figures/statistics.h"
#include "text/json_text.h"
#include "text/strings.h"

namespace dlaunch::measure {

namespace {

constexpr std::size_t kColumn = 8;
constexpr std::size_t kMostNamed = 10;
constexpr std::size_t kFewestToJudge = 3;

std::string gigabytes(double value) {
  return decimals(value, value < 0.1 ? 4 : value < 100 ? 2 : 0);
}

std::vector<double> bandwidths_of(const std::vector<PairResult>& pairs) {
  std::vector<double> bandwidths;
  bandwidths.reserve(pairs.size());
  for (const PairResult& pair : pairs) bandwidths.push_back(pair.bandwidth);
  return bandwidths;
}

double median_of(const std::vector<PairResult>& pairs) {
  return summarize(bandwidths_of(pairs)).median;
}

/// The speed of a healthy link, as in outliers.cc. Not the median: with one bad node among three,
/// two of three links are slow.
double usual_of(const std::vector<PairResult>& pairs) {
  constexpr double kUpper = 0.75;
  if (pairs.empty()) return 0;
  std::vector<double> bandwidths = bandwidths_of(pairs);
  std::sort(bandwidths.begin(), bandwidths.end());
  const double position = kUpper * static_cast<double>(bandwidths.size() - 1);
  return bandwidths[static_cast<std::size_t>(std::ceil(position))];
}

std::string matrix(const std::vector<std::string>& labels, const std::vector<PairResult>& pairs) {
  std::size_t widest = 6;
  for (const std::string& label : labels) widest = std::max(widest, label.size());
  std::string text(widest, ' ');
  // Columns are headed by numbers, since names may be long.
  for (std::size_t i = 0; i < labels.size(); ++i) text += right_aligned(std::to_string(i), kColumn);
  text += '\n';
  for (std::uint32_t row = 0; row < labels.size(); ++row) {
    text += labels[row] + std::string(widest - labels[row].size(), ' ');
    for (std::uint32_t column = 0; column < labels.size(); ++column) {
      const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const PairResult& pair) {
        return pair.a == std::min(row, column) && pair.b == std::max(row, column);
      });
      text += right_aligned(row == column || found == pairs.end() ? "-" : gigabytes(found->bandwidth),
                     kColumn);
    }
    text += '\n';
  }
  return text;
}

std::string link_name(const std::vector<std::string>& labels, const PairResult& pair) {
  return labels.at(pair.a) + " - " + labels.at(pair.b);
}

std::string slow_text(const std::vector<std::string>& labels,
                      const std::vector<PairResult>& pairs) {
  const double usual = usual_of(pairs);
  std::string text = "# median " + gigabytes(median_of(pairs)) + ", upper quartile " +
                     gigabytes(usual) + " GB/s each way over " + counted(pairs.size(), "link") +
                     '\n';
  const std::vector<PairResult> slow = slow_links(pairs);
  for (std::size_t i = 0; i < slow.size() && i < kMostNamed; ++i) {
    text += "# slow: " + link_name(labels, slow[i]) + ", " + gigabytes(slow[i].bandwidth) +
            " GB/s, " + decimals(slow[i].bandwidth / usual, 2) + " of the upper quartile\n";
  }
  if (slow.size() > kMostNamed)
    text += "# and " + std::to_string(slow.size() - kMostNamed) + " more: --json lists all\n";
  if (slow.empty() && !pairs.empty()) {
    const auto least = std::min_element(
        pairs.begin(), pairs.end(),
        [](const auto& one, const auto& other) { return one.bandwidth < other.bandwidth; });
    text +=
        "# slowest: " + link_name(labels, *least) + ", " + gigabytes(least->bandwidth) + " GB/s\n";
  }
  return text;
}

}  // namespace

PairResult read_pair(const Record& record) {
  PairResult pair;
  pair.a = static_cast<std::uint32_t>(record.number("a"));
  pair.b = static_cast<std::uint32_t>(record.number("b"));
  pair.bytes = static_cast<std::uint64_t>(record.number("bytes"));
  pair.time = record.number("mean");
  pair.bandwidth = algorithm_bandwidth(pair.bytes, pair.time);
  return pair;
}

std::vector<std::string> rank_labels(const std::vector<std::string>& hosts) {
  std::vector<std::string> labels;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const bool is_alone = std::count(hosts.begin(), hosts.end(), hosts[rank]) == 1;
    labels.push_back(is_alone ? hosts[rank] : hosts[rank] + ':' + std::to_string(rank));
  }
  return labels;
}

std::vector<PairResult> slow_links(std::vector<PairResult> pairs) {
  if (pairs.size() < kFewestToJudge) return {};
  const double least = usual_of(pairs) * kSlowShare;
  std::erase_if(pairs, [&](const PairResult& pair) { return pair.bandwidth >= least; });
  std::stable_sort(pairs.begin(), pairs.end(), [](const auto& one, const auto& other) {
    return one.bandwidth < other.bandwidth;
  });
  return pairs;
}

std::string pair_text(const BenchHeader& header, const std::vector<PairResult>& pairs) {
  const std::vector<std::string> labels = rank_labels(header.hosts);
  std::string text = "# send_recv both ways at once between every pair of " +
                     std::to_string(labels.size()) + " ranks over " + header.backend + '\n';
  if (!pairs.empty())
    text += "# " + short_size(pairs.front().bytes) + " bytes, GB/s each way, mean of " +
            std::to_string(header.iterations) + " calls\n";
  if (labels.size() <= kMostInMatrix) text += matrix(labels, pairs);
  return text + slow_text(labels, pairs);
}

std::string pair_json(const BenchHeader& header, const std::vector<PairResult>& pairs,
                      std::string_view error) {
  std::string out = "{\"operation\": \"send_recv\", \"mode\": \"pairs\", \"backend\": ";
  append_json_string(out, header.backend);
  out += ", \"ranks\": " + std::to_string(header.hosts.size()) + ", \"hosts\": [";
  for (std::size_t i = 0; i < header.hosts.size(); ++i) {
    if (i > 0) out += ", ";
    append_json_string(out, header.hosts[i]);
  }
  out += ']';
  append_completeness(out, error);
  out += ", \"median\": ";
  append_number(out, median_of(pairs));
  out += ", \"pairs\": [";
  const std::vector<PairResult> slow = slow_links(pairs);
  for (const PairResult& pair : pairs) {
    out += &pair == pairs.data() ? "\n  {" : ",\n  {";
    out += "\"a\": " + std::to_string(pair.a) + ", \"b\": " + std::to_string(pair.b) +
           ", \"bytes\": " + std::to_string(pair.bytes) + ", \"time_us\": ";
    append_number(out, pair.time);
    out += ", \"bandwidth\": ";
    append_number(out, pair.bandwidth);
    const bool is_slow = contains(slow, pair);
    out += std::string(", \"slow\": ") + (is_slow ? "true" : "false") + '}';
  }
  return out + "\n]}";
}

}  // namespace dlaunch::measure
