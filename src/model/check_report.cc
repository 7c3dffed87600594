#include "model/check_report.h"

#include <algorithm>
#include <array>

namespace dlaunch {

using Severity = CheckFinding::Severity;

namespace {

std::optional<double> per_second(std::uint64_t count, std::uint64_t ns) {
  if (count == 0 || ns == 0) return std::nullopt;
  return static_cast<double>(count) * 1e9 / static_cast<double>(ns);
}

}  // namespace

std::optional<double> FolderSpeed::files_per_second() const {
  return per_second(files, lookup_ns);
}

std::optional<double> FolderSpeed::bytes_per_second() const {
  return per_second(bytes, read_ns);
}

bool is_of_network(std::string_view file_system) {
  static constexpr std::array kTypes = {"nfs",  "lustre", "gpfs", "cifs",    "smb", "ceph",
                                        "fuse", "beegfs", "afs",  "gluster", "9p"};
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](const char* type) { return file_system.starts_with(type); });
}

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
