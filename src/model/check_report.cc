#include "model/check_report.h"

#include <algorithm>

namespace dlaunch {

using Severity = CheckFinding::Severity;

bool is_bad(const CheckReport& report, std::uint32_t node) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const CheckFinding& one) {
    return one.severity == Severity::bad && one.nodes.size() == 1 && one.nodes.front() == node;
  });
}

bool is_bad(const CheckReport& report) {
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const CheckFinding& one) { return one.severity == Severity::bad; });
}

std::vector<std::uint32_t> good_nodes(const CheckReport& report) {
  std::vector<std::uint32_t> good;
  for (std::uint32_t node = 0; node < report.nodes.size(); ++node) {
    if (!is_bad(report, node)) good.push_back(node);
  }
  return good;
}

}  // namespace dlaunch
