#include "report/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/rank_list.h"
#include "text/json_text.h"
#include "text/number.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostLines = 40;  // of one section

bool are_equal(const std::string& section, const RunValue& first, const RunValue& second) {
  if (!first.number || !second.number) return first == second;
  const double difference = std::abs(*first.number - *second.number);
  const double larger = std::max(std::abs(*first.number), std::abs(*second.number));
  if (section == "timings") return difference < std::max(0.05, larger * 0.02);
  return difference <= larger * 0.001;
}

/// The rank in "rank 3 cpus", and the text after it.
std::optional<std::pair<std::uint32_t, std::string>> of_rank(const std::string& name) {
  constexpr std::string_view kRank = "rank ";
  if (!name.starts_with(kRank)) return std::nullopt;
  const std::size_t blank = name.find(' ', kRank.size());
  if (blank == std::string::npos) return std::nullopt;
  const auto rank =
      number_of<std::uint32_t>(std::string_view(name).substr(kRank.size(), blank - kRank.size()));
  if (!rank) return std::nullopt;
  return std::pair(*rank, name.substr(blank));
}

/// Merges equal differences of several ranks into one, at the place of the first.
std::vector<RunDifference> merged(std::vector<RunDifference> all) {
  std::map<std::pair<std::string, std::pair<std::string, std::string>>, std::vector<Rank>> ranks;
  const auto key = [](const RunDifference& one, const std::string& what) {
    return std::pair(what, std::pair(one.first.text, one.second.text));
  };
  for (const RunDifference& one : all) {
    if (const auto rank = of_rank(one.name))
      ranks[key(one, rank->second)].emplace_back(rank->first);
  }
  std::vector<RunDifference> result;
  for (RunDifference& one : all) {
    if (const auto rank = of_rank(one.name)) {
      const auto& alike = ranks[key(one, rank->second)];
      if (alike.front().value != rank->first) continue;
      if (alike.size() > 1) one.name = "ranks " + rank_ranges(alike) + rank->second;
    }
    result.push_back(std::move(one));
  }
  return result;
}

SectionComparison compare(const RunSection& first, const RunSection& second) {
  SectionComparison result;
  result.name = first.name;
  std::map<std::string, const RunValue*> others;
  for (const auto& [name, value] : second.values) others[name] = &value;
  for (const auto& [name, value] : first.values) {
    const auto other = others.find(name);
    if (other == others.end()) {
      result.differences.push_back({name, value, {}});
      continue;
    }
    if (are_equal(first.name, value, *other->second)) {
      ++result.equal;
    } else {
      result.differences.push_back({name, value, *other->second});
    }
    others.erase(other);
  }
  for (const auto& [name, value] : second.values) {
    if (others.contains(name)) result.differences.push_back({name, {}, value});
  }
  result.differences = merged(std::move(result.differences));
  return result;
}

/// " (+25 %)"
std::string change(const RunDifference& one) {
  if (!one.first.number || !one.second.number || *one.first.number == 0) return "";
  const double percent = (*one.second.number / *one.first.number - 1) * 100;
  constexpr double kMost = 1000;
  if (std::abs(percent) > kMost) return "";
  return std::string(" (") + (percent < 0 ? "" : "+") + decimals(percent, 0) + " %)";
}

std::string shown(const RunValue& value) {
  return value.text.empty() ? "-" : value.text;
}

/// One line if the difference fits, else the values on separate lines.
std::string difference_text(const RunDifference& one, std::size_t width, std::size_t columns) {
  const std::string line = "  " + padded(one.name, width) + "  " + shown(one.first) + " -> " +
                           shown(one.second) + change(one);
  if (utf8_length(line) <= columns) return line + '\n';
  const std::size_t room = std::max<std::size_t>(columns, 20) - 6;
  return "  " + one.name + "\n    - " + cut_to_columns(shown(one.first), room) + "\n    + " +
         cut_to_columns(shown(one.second), room) + '\n';
}

void write_value(JsonText& json, std::string_view name, const RunValue& value) {
  json.key(name);
  value.number ? json.real(*value.number) : json.string_or_null(value.text);
}

}  // namespace

std::vector<SectionComparison> compare_runs(const std::vector<RunSection>& first,
                                            const std::vector<RunSection>& second) {
  std::vector<SectionComparison> sections;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    sections.push_back(compare(first[i], second[i]));
  return sections;
}

std::string comparison_text(const RunTexts& first, const RunTexts& second,
                            const std::vector<SectionComparison>& sections, std::size_t columns) {
  std::string text = first.id + "  " + first.state + '\n' + second.id + "  " + second.state + '\n';
  std::vector<std::string> equal;
  for (const SectionComparison& section : sections) {
    if (section.equal > 0) equal.push_back(section.name + ' ' + std::to_string(section.equal));
    if (section.differences.empty()) continue;
    text += '\n' + section.name + '\n';
    constexpr std::size_t kWidest = 28;
    std::size_t width = 0;
    for (const RunDifference& one : section.differences)
      width = std::max(width, std::min(utf8_length(one.name), kWidest));
    for (std::size_t i = 0; i < std::min(section.differences.size(), kMostLines); ++i)
      text += difference_text(section.differences[i], width, columns);
    if (section.differences.size() > kMostLines)
      text += "  and " + std::to_string(section.differences.size() - kMostLines) +
              " more: see --json\n";
  }
  return text + "\nequal: " + (equal.empty() ? "nothing" : joined(equal)) + '\n';
}

std::string comparison_json(const RunTexts& first, const RunTexts& second,
                            const std::vector<SectionComparison>& sections) {
  std::string text;
  JsonText json(text);
  json.begin_object().key("first").string(first.id).key("second").string(second.id);
  json.key("sections").begin_array();
  for (const SectionComparison& section : sections) {
    json.line(2).begin_object().key("name").string(section.name);
    json.key("equal").number(static_cast<std::int64_t>(section.equal));
    json.key("differences").begin_array();
    for (const RunDifference& one : section.differences) {
      json.line(4).begin_object().key("name").string(one.name);
      write_value(json, "first", one.first);
      write_value(json, "second", one.second);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return text;
}

}  // namespace dlaunch
