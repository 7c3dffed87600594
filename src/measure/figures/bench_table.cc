#include "measure/figures/bench_table.h"

#include <array>
#include <cstdio>

#include "text/json_text.h"
#include "text/strings.h"
#include "text/wrap.h"

namespace dlaunch::measure {

namespace {

// Width of the out-of-place or in-place part: time, algbw, busbw, #wrong.
constexpr int kPlaceColumns = 31;
constexpr std::size_t kMostNamed = 12;

template <class... Values>
std::string line(const char* format, Values... values) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

/// About five digits at any magnitude: "0.31", "12.34", "1234.5", "1234567".
std::string number(double value) {
  if (value < 0.005 && value > 0) return line("%.4f", value);
  if (value < 100) return line("%.2f", value);
  return line(value < 10000 ? "%.1f" : "%.0f", value);
}

BenchResult read_result(const Record& record, const std::string& prefix, const BenchHeader& header,
                        std::uint64_t bytes) {
  BenchResult result;
  result.time = record.number(prefix + "mean");
  result.algbw = algorithm_bandwidth(bytes, result.time);
  result.busbw =
      result.algbw * bus_factor(header.operation, static_cast<std::uint32_t>(header.hosts.size()));
  if (record.has(prefix + "wrong"))
    result.wrong = static_cast<std::uint64_t>(record.number(prefix + "wrong"));
  result.each = summarize(record.numbers(prefix + "times"));
  return result;
}

std::string result_text(const std::optional<BenchResult>& result) {
  if (!result) return line("%*s%*s%*s%*s", 9, "-", 8, "-", 8, "-", 6, "-");
  return right_aligned(number(result->time), 9) + right_aligned(number(result->algbw), 8) +
         right_aligned(number(result->busbw), 8) +
         right_aligned(result->wrong ? std::to_string(*result->wrong) : "n/a", 6);
}

/// "4 x node1, 4 x node2", cut after a few.
std::string hosts_text(const std::vector<std::string>& names) {
  std::string text;
  std::size_t named = 0;
  for (std::size_t i = 0; i < names.size();) {
    if (named++ == kMostNamed)
      return text + " and those of " + std::to_string(names.size() - i) + " more ranks";
    std::size_t end = i;
    while (end < names.size() && names[end] == names[i]) ++end;
    text += (i > 0 ? ", " : "") + std::to_string(end - i) + " x " + names[i];
    i = end;
  }
  return text;
}

void append_key(std::string& out, std::string_view key) {
  out += ", ";
  append_json_string(out, key);
  out += ": ";
}

void append_text(std::string& out, std::string_view key, std::string_view value) {
  append_key(out, key);
  append_json_string(out, value);
}

void append_value(std::string& out, std::string_view key, double value) {
  append_key(out, key);
  append_number(out, value);
}

void append_texts(std::string& out, std::string_view key, const std::vector<std::string>& values) {
  append_key(out, key);
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ", ";
    append_json_string(out, values[i]);
  }
  out += ']';
}

void append_result(std::string& out, std::string_view key,
                   const std::optional<BenchResult>& result) {
  append_key(out, key);
  if (!result) {
    out += "null";
    return;
  }
  out += "{\"time_us\": ";
  append_number(out, result->time);
  append_value(out, "algbw", result->algbw);
  append_value(out, "busbw", result->busbw);
  append_key(out, "wrong");
  out += result->wrong ? std::to_string(*result->wrong) : "null";
  append_value(out, "min_us", result->each.min);
  append_value(out, "median_us", result->each.median);
  append_value(out, "mean_us", result->each.mean);
  append_value(out, "p90_us", result->each.p90);
  append_value(out, "p99_us", result->each.p99);
  append_value(out, "max_us", result->each.max);
  out += '}';
}

}  // namespace

void add_ranks(const Record& record, BenchHeader& header) {
  header.backend = record.text("backend");
  header.hosts = record.texts("hosts");
  header.devices = record.texts("devices");
}

BenchRow read_row(const Record& record, const BenchHeader& header) {
  BenchRow row;
  row.bytes = static_cast<std::uint64_t>(record.number("bytes"));
  row.count = static_cast<std::uint64_t>(record.number("count"));
  if (record.has("out_mean")) row.out_of_place = read_result(record, "out_", header, row.bytes);
  if (record.has("in_mean")) row.in_place = read_result(record, "in_", header, row.bytes);
  return row;
}

std::uint64_t wrong_elements(const BenchRow& row) {
  std::uint64_t wrong = 0;
  for (const auto* place : {&row.out_of_place, &row.in_place}) {
    if (*place) wrong += (*place)->wrong.value_or(0);
  }
  return wrong;
}

std::string table_head(const BenchHeader& header) {
  const std::size_t ranks = header.hosts.size();
  std::string text = "# " + std::string(name_of(header.operation)) + " over " + header.backend +
                     ", " + counted(ranks, "rank") + ", " + std::to_string(header.warmup) + " + " +
                     std::to_string(header.iterations) + " calls per size\n";
  append_wrapped(text, "# hosts   ", "#         ", hosts_text(header.hosts));
  append_wrapped(text, "# memory  ", "#         ", hosts_text(header.devices));
  if (ranks == 1) text += "# one rank: a copy in memory, without a network\n";
  text += line("#%41s%*s%*s\n", "", 21, "out of place", kPlaceColumns, "in place");
  text += line("#%10s%11s%9s%5s%5s ", "size", "count", "type", "op", "root");
  for (int place = 0; place < 2; ++place)
    text += line("%9s%8s%8s%6s", "time", "algbw", "busbw", "wrong");
  text += line("\n#%10s%11s%20s", "(B)", "(elements)", "");
  text += line("%9s%8s%8s%6s%9s%8s%8s", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)");
  return text + '\n';
}

std::string table_row(const BenchRow& row, const BenchHeader& header) {
  const std::string root = header.root < 0 ? "-" : std::to_string(header.root);
  return line(" %10llu%11llu%9s%5s%5s ", static_cast<unsigned long long>(row.bytes),
              static_cast<unsigned long long>(row.count), header.type.c_str(),
              header.op.empty() ? "-" : header.op.c_str(), root.c_str()) +
         result_text(row.out_of_place) + result_text(row.in_place) + '\n';
}

std::string incomplete_text(std::string_view error) {
  std::string text;
  if (!error.empty()) append_wrapped(text, "# incomplete: ", "#   ", error);
  return text;
}

void append_completeness(std::string& out, std::string_view error) {
  append_key(out, "complete");
  out += error.empty() ? "true" : "false";
  if (!error.empty()) append_text(out, "error", error);
}

std::string to_json(const BenchHeader& header, const std::vector<BenchRow>& rows,
                    std::string_view error) {
  std::string out = "{\"operation\": ";
  append_json_string(out, name_of(header.operation));
  append_text(out, "type", header.type);
  if (!header.op.empty()) append_text(out, "op", header.op);
  if (header.root >= 0) append_value(out, "root", static_cast<double>(header.root));
  append_text(out, "backend", header.backend);
  append_value(out, "ranks", static_cast<double>(header.hosts.size()));
  append_texts(out, "hosts", header.hosts);
  append_texts(out, "devices", header.devices);
  append_value(out, "warmup", static_cast<double>(header.warmup));
  append_value(out, "iterations", static_cast<double>(header.iterations));
  append_completeness(out, error);
  append_key(out, "rows");
  out += '[';
  for (const BenchRow& row : rows) {
    out += &row == rows.data() ? "\n  {" : ",\n  {";
    out += "\"bytes\": " + std::to_string(row.bytes);
    append_key(out, "count");
    out += std::to_string(row.count);
    append_result(out, "out_of_place", row.out_of_place);
    append_result(out, "in_place", row.in_place);
    out += '}';
  }
  return out + "\n]}";
}

}  // namespace dlaunch::measure
