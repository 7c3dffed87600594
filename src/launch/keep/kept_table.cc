#include "launch/keep/kept_table.h"

#include <algorithm>
#include <array>

#include "report/runs_table.h"
#include "text/json_text.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using Row = std::array<std::string, 5>;

std::string two_digits(std::uint32_t hundredths) {
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + '.' + (rest.size() < 2 ? "0" : "") + rest;
}

std::string health(const KeptRow& row) {
  if (!row.run.empty()) return "run " + row.run;
  if (!row.trouble.empty()) return plain_line(row.trouble);
  if (!row.was_asked) return "-";
  return row.findings.empty() ? "ok" : plain_line(joined(row.findings, "; "));
}

Row row_of(const KeptRow& row) {
  return {row.name, row.state, short_duration(std::chrono::milliseconds(row.for_ms)),
          row.was_asked ? two_digits(row.load_hundredths) : "-", health(row)};
}

}  // namespace

std::string kept_table(const std::vector<KeptList>& keepers) {
  std::vector<Row> rows{{"HOST", "STATE", "FOR", "LOAD", "HEALTH"}};
  for (const KeptList& keeper : keepers) {
    for (const KeptRow& row : keeper.nodes) rows.push_back(row_of(row));
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    if (!text.empty()) text += '\n';
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text += std::string(widths[i] - row[i].size() + 2, ' ');
    }
  }
  return text;
}

std::string kept_json(const std::vector<KeptList>& keepers) {
  std::string out;
  JsonText json(out);
  json.begin_array();
  for (const KeptList& keeper : keepers) {
    for (const KeptRow& row : keeper.nodes) {
      json.begin_object();
      json.key("host").string(row.name);
      json.key("state").string(row.state);
      json.key("for_s").billionths(static_cast<std::int64_t>(row.for_ms) * 1'000'000);
      json.key("run").string_or_null(row.run);
      json.key("problem").string_or_null(row.trouble);
      json.key("load");
      row.was_asked ? json.billionths(std::int64_t{row.load_hundredths} * 10'000'000) : json.null();
      json.key("findings").begin_array();
      for (const std::string& finding : row.findings) json.string(finding);
      json.end_array();
      json.key("keeper").number(static_cast<std::int64_t>(keeper.pid));
      json.key("ends_in_s").billionths(static_cast<std::int64_t>(keeper.left_ms) * 1'000'000);
      json.end_object();
    }
  }
  json.end_array();
  return out;
}

}  // namespace dlaunch
