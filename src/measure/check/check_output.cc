#include "measure/check/check_output.h"

#include <algorithm>
#include <map>

#include "measure/check/folder_findings.h"
#include "plan/fabric_ports.h"
#include "text/json_text.h"
#include "text/size_text.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

using LinkLayer = RdmaPort::LinkLayer;
using Severity = CheckFinding::Severity;

std::string speed(double gbs) {
  return gbs > 0 ? three_digits(gbs) + " GB/s" : "-";
}

/// "H100" for "NVIDIA H100 80GB HBM3", to fit a column.
std::string short_model(std::string model) {
  if (model.starts_with("NVIDIA ")) model.erase(0, 7);
  return model.substr(0, model.find_first_of(" -"));
}

std::string gpus_cell(const NodeFacts& facts) {
  std::map<std::string, std::size_t> models;
  for (const GpuFact& gpu : facts.gpus) ++models[short_model(gpu.model)];
  std::string text;
  for (const auto& [model, count] : models)
    text += (text.empty() ? "" : "+") + std::to_string(count) + (model.empty() ? "" : " " + model);
  return text.empty() ? "-" : text;
}

/// "8x400 ACTIVE", "7x400, 1 DOWN".
std::string ports_cell(const NodeFacts& facts) {
  std::map<std::uint32_t, std::size_t> active;
  std::size_t down = 0;
  for (const RdmaDevice& device : facts.fabric.rdma) {
    for (const RdmaPort& port : device.ports) {
      const bool is_infiniband =
          port.link_layer == LinkLayer::infiniband && is_infiniband_card(device);
      if (!is_infiniband) continue;
      if (port.state == RdmaPort::State::active) {
        ++active[port.rate_mbit / 1000];
      } else {
        ++down;
      }
    }
  }
  const bool roce = active.empty() && down == 0;
  if (roce) {
    for (const FabricPort& port : usable_ports(facts, LinkLayer::ethernet))
      ++active[port.port->rate_mbit / 1000];
  }
  std::string text;
  for (auto each = active.rbegin(); each != active.rend(); ++each)
    text += (text.empty() ? "" : ", ") + std::to_string(each->second) + 'x' +
            std::to_string(each->first);
  if (text.empty() && down == 0) return "-";
  if (down > 0) return text + (text.empty() ? "" : ", ") + std::to_string(down) + " DOWN";
  return text + (roce ? " RoCE" : " ACTIVE");
}

std::string limits_cell(const CheckReport& report, std::uint32_t node) {
  for (const CheckFinding& one : report.findings) {
    const bool is_limit = one.code == "memlock" || one.code == "open-files" || one.code == "shm";
    if (is_limit && one.severity == Severity::bad && one.nodes == std::vector{node})
      return one.code;
  }
  return "ok";
}

std::string clock_cell(const CheckedNode& node) {
  if (!node.clock_offset_ns) return "-";
  const double ms = static_cast<double>(*node.clock_offset_ns) / 1e6;
  return decimals(ms < 0 ? -ms : ms, 1) + " ms";
}

/// The first bad finding, and the number of others.
std::string verdict_cell(const CheckReport& report, std::uint32_t node) {
  std::string text;
  std::size_t bad = 0;
  for (const CheckFinding& one : report.findings) {
    if (one.severity != Severity::bad || one.nodes != std::vector{node}) continue;
    if (++bad == 1) text = one.text.substr(0, one.text.find('\n'));
  }
  if (bad == 0) return "ok";
  return "BAD  " + text + (bad > 1 ? " (and " + std::to_string(bad - 1) + " more)" : "");
}

Cells row_of(const CheckReport& report, std::uint32_t i) {
  const CheckedNode& node = report.nodes[i];
  const bool answered = node.failure.empty();
  const NodeFigures figures = i < report.figures.size() ? report.figures[i] : NodeFigures{};
  const std::string together =
      figures.in_all_reduce && report.all_reduce_gbs ? speed(*report.all_reduce_gbs) : "-";
  if (!answered) return {node.name, "-", "-", "-", "-", "-", "-", "-", verdict_cell(report, i)};
  const std::string& driver = node.facts.fabric.gpu_driver;
  return {node.name,
          gpus_cell(node.facts),
          driver.empty() ? "-" : driver,
          ports_cell(node.facts),
          limits_cell(report, i),
          clock_cell(node),
          speed(figures.exchange_gbs),
          together,
          verdict_cell(report, i)};
}

/// Empty columns are left out, except host and verdict.
std::string table(const CheckReport& report) {
  std::vector<Cells> rows = {{"host", "gpus", "driver", "infiniband", "limits", "clock", "exchange",
                              "all_reduce", "verdict"}};
  for (std::uint32_t i = 0; i < report.nodes.size(); ++i) rows.push_back(row_of(report, i));
  for (std::size_t c = rows.front().size(); c-- > 0;) {
    const auto is_empty = [c](const Cells& row) { return row[c] == "-"; };
    if (!std::all_of(rows.begin() + 1, rows.end(), is_empty)) continue;
    for (Cells& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
  }
  return table_text(rows);
}

std::string whose(const CheckReport& report, const CheckFinding& one) {
  const auto name = [&](std::uint32_t node) { return report.nodes[node].name; };
  if (one.nodes.empty()) return "all";
  if (one.nodes.size() == 1) return name(one.nodes.front());
  return name(one.nodes[0]) + " - " + name(one.nodes[1]);
}

void put_number(JsonText& text, double value) {
  constexpr double kMost = 9e9;  // times 10^9 must fit the integer
  text.billionths(static_cast<std::int64_t>(std::clamp(value, -kMost, kMost) * 1e9));
}

void put_positive(JsonText& text, const char* key, double value) {
  text.key(key);
  if (value > 0) {
    put_number(text, value);
  } else {
    text.null();
  }
}

void put_finding(JsonText& text, const CheckReport& report, const CheckFinding& one) {
  text.begin_object();
  text.key("severity").string(one.severity == CheckFinding::Severity::bad ? "bad" : "note");
  text.key("code").string(one.code).key("hosts").begin_array();
  for (const std::uint32_t node : one.nodes) text.string(report.nodes[node].name);
  text.end_array().key("text").string(one.text).key("remedy").string(one.remedy).end_object();
}

void put_folder(JsonText& text, const FolderSpeed& speed) {
  constexpr double kMegabyte = 1e6;
  text.begin_object().key("path").string(speed.path);
  text.key("file_system").string_or_null(speed.file_system);
  text.key("network").boolean(is_of_network(speed.file_system));
  text.key("files").number(speed.files);
  put_positive(text, "files_per_s", speed.files_per_second().value_or(0));
  put_positive(text, "read_mbs", speed.bytes_per_second().value_or(0) / kMegabyte);
  put_positive(text, "ms_per_file", static_cast<double>(speed.took_ns) / 1e6 / speed.files);
  text.end_object();
}

/// Those of the job, and the one on a local disk to compare them with.
void put_folders(JsonText& text, const NodeCondition& condition) {
  text.key("folders").begin_array();
  for (const FolderSpeed& speed : condition.code) put_folder(text, speed);
  text.end_array().key("local_folder");
  if (condition.local.files > 0) {
    put_folder(text, condition.local);
  } else {
    text.null();
  }
}

void put_node(JsonText& text, const CheckReport& report, std::uint32_t i) {
  const CheckedNode& node = report.nodes[i];
  const NodeFigures figures = i < report.figures.size() ? report.figures[i] : NodeFigures{};
  text.begin_object().key("host").string(node.name);
  text.key("good").boolean(!is_bad(report, i)).key("reached").boolean(node.failure.empty());
  text.key("gpus").number(static_cast<std::int64_t>(node.facts.gpus.size()));
  text.key("driver").string(node.facts.fabric.gpu_driver);
  text.key("kernel").string(node.facts.kernel);
  text.key("cores").number(static_cast<std::int64_t>(node.facts.cores.size()));
  text.key("memory_bytes").number(static_cast<std::int64_t>(node.facts.memory_bytes));
  text.key("clock_offset_ms");
  if (node.clock_offset_ns) {
    put_number(text, static_cast<double>(*node.clock_offset_ns) / 1e6);
  } else {
    text.null();
  }
  put_positive(text, "compute_gflops", figures.compute);
  put_positive(text, "memory_gbs", figures.memory_gbs);
  put_positive(text, "exchange_gbs", figures.exchange_gbs);
  put_positive(text, "exchange_us", figures.exchange_us);
  text.key("in_all_reduce").boolean(figures.in_all_reduce);
  put_folders(text, node.condition);
  text.end_object();
}

}  // namespace

std::string check_text(const CheckReport& report) {
  std::string out = table(report) + folders_text(report.nodes);
  for (const Severity severity : {Severity::bad, Severity::note}) {
    for (const CheckFinding& one : report.findings) {
      if (one.severity != severity) continue;
      const std::string label = severity == Severity::bad ? "bad   " : "note  ";
      append_wrapped(out, label, "      ", whose(report, one) + ": " + one.text);
      if (!one.remedy.empty()) append_wrapped(out, "      ", "      ", "try: " + one.remedy);
    }
  }
  if (report.all_reduce_gbs) {
    std::string text =
        "all_reduce over " +
        std::to_string(std::count_if(report.figures.begin(), report.figures.end(),
                                     [](const NodeFigures& one) { return one.in_all_reduce; })) +
        " nodes: " + speed(*report.all_reduce_gbs) + " bus bandwidth";
    if (report.all_reduce_bytes > 0)
      text += " with " + size_text(static_cast<std::uint64_t>(report.all_reduce_bytes));
    text += report.expected_gbs && *report.expected_gbs > 0
                ? ", expected at least " + speed(*report.expected_gbs)
                : ", with no known rate to compare it with (set one: --min-busbw)";
    append_wrapped(out, "", "  ",
                   text + (report.backend.empty() ? "" : " (" + report.backend + ")"));
  }
  if (!report.not_measured.empty())
    append_wrapped(out, "", "  ", "not measured: " + report.not_measured);
  return out;
}

std::string check_verdict(const CheckReport& report) {
  std::size_t bad = 0;
  for (std::uint32_t i = 0; i < report.nodes.size(); ++i) bad += is_bad(report, i) ? 1U : 0U;
  const std::string all = std::to_string(report.nodes.size());
  const std::string nodes = report.nodes.size() == 1 ? " node" : " nodes";
  if (bad > 0)
    return std::to_string(bad) + " of " + all + nodes + (bad == 1 ? " is bad" : " are bad");
  if (is_bad(report)) return "every node is good, but the network between them is bad";
  return report.nodes.size() == 1 ? "the node is good" : "all " + all + " nodes are good";
}

std::string check_json(const CheckReport& report) {
  std::string out;
  JsonText text(out);
  text.begin_object().key("format").number(1).key("good").boolean(!is_bad(report));
  text.key("took_ms").number(report.took_ms).key("backend").string(report.backend);
  put_positive(text, "all_reduce_busbw_gbs", report.all_reduce_gbs.value_or(0));
  put_positive(text, "expected_busbw_gbs", report.expected_gbs.value_or(0));
  text.key("exchanges").number(static_cast<std::int64_t>(report.exchanges));
  text.key("not_measured").string(report.not_measured);
  text.key("nodes").begin_array();
  for (std::uint32_t i = 0; i < report.nodes.size(); ++i) put_node(text, report, i);
  text.end_array().key("findings").begin_array();
  for (const CheckFinding& one : report.findings) put_finding(text, report, one);
  text.end_array().end_object();
  out += '\n';
  return out;
}

}  // namespace dlaunch
