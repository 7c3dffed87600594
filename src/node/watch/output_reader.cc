#include "node/watch/output_reader.h"

#include <algorithm>
#include <cstdio>

#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kLineColumns = 160;
constexpr std::string_view kLineEnds = "\r\n";

std::size_t index_of(Stream stream) {
  return stream == Stream::out ? 0 : 1;
}

}  // namespace

MetricPatterns::MetricPatterns(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    auto& one = patterns_.emplace_back();
    if (metric_problem(pattern).empty()) one.emplace(pattern);
  }
}

std::optional<double> MetricPatterns::last(std::size_t index, std::string& lines) const {
  if (!patterns_[index]) return std::nullopt;
  MetricMatches found;
  patterns_[index]->find(lines, found);
  return found.values.empty() ? std::nullopt : std::optional(found.values.back());
}

std::uint64_t OutputReader::begin_of_look(Stream stream, std::uint64_t end) const {
  const std::uint64_t least = end - std::min<std::uint64_t>(end, kMostLooked);
  return std::max(line_begins_[index_of(stream)], least);
}

void OutputReader::look(Stream stream, std::string_view bytes, std::uint64_t begin) {
  std::uint64_t& line_begin = line_begins_[index_of(stream)];
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::size_t cut = rest.find_last_not_of('\n');
    if (cut == std::string_view::npos) break;
    const std::string_view lines = rest.substr(0, cut + 1);
    const std::size_t at = lines.rfind('\n') + 1;  // npos + 1 is 0
    std::string line = cut_to_columns(trimmed(plain_line(lines.substr(at))), kLineColumns);
    if (!line.empty()) {
      last_line_ = std::move(line);
      break;
    }
    rest = rest.substr(0, at);
  }
  const std::size_t last_end = bytes.find_last_of(kLineEnds);
  if (last_end == std::string_view::npos) return;
  std::string_view whole = bytes.substr(0, last_end + 1);
  // The first piece belongs to a line that began before, perhaps within a number.
  if (begin > line_begin) whole.remove_prefix(whole.find_first_of(kLineEnds) + 1);
  line_begin = begin + last_end + 1;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (stream == Stream::err && found_[i].in_stdout) continue;
    std::string lines(whole);
    const auto value = patterns_->last(i, lines);
    if (!value) continue;
    char text[32];
    static_cast<void>(std::snprintf(text, sizeof text, "%.6g", *value));
    found_[i] = {text, stream == Stream::out};
  }
}

std::vector<MetricPulse> OutputReader::metrics() const {
  std::vector<MetricPulse> metrics;
  for (std::size_t i = 0; i < found_.size(); ++i) {
    if (!found_[i].value.empty())
      metrics.push_back({static_cast<std::uint32_t>(i), found_[i].value});
  }
  return metrics;
}

}  // namespace dlaunch
