#include <algorithm>

#include "measure/check/check_output.h"
#include "text/json_text.h"

namespace dlaunch {

namespace {

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
  text.key("in_all_reduce").boolean(figures.in_all_reduce).end_object();
}

}  // namespace

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
