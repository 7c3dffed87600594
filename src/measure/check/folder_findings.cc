#include "measure/check/folder_findings.h"

#include <algorithm>
#include <map>
#include <optional>

#include "text/json_text.h"
#include "text/strings.h"
#include "text/table.h"

namespace dlaunch {

namespace {

std::string time_text(std::uint64_t ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t unit = ns < kSecond ? kSecond / 1000 : kSecond;
  const std::uint64_t tenths = ns * 10 / unit;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) +
         (ns < kSecond ? " ms" : " s");
}

std::uint64_t each_ns(const FolderSpeed& speed) {
  return speed.took_ns / speed.files;
}

bool is_slow(const FolderSpeed& speed) {
  const std::uint64_t limit = is_of_network(speed.file_system) ? kSlowFileOfNetworkNs : kSlowFileNs;
  return speed.files >= kFewFiles && each_ns(speed) >= limit;
}

struct Slow {
  std::uint32_t node = 0;  // the slowest
  std::size_t count = 0;   // of slow nodes
  bool is_workdir = false;
  FolderSpeed speed;
  FolderSpeed local;
};

std::string text_of(const Slow& slow) {
  const std::uint64_t each = each_ns(slow.speed);
  std::string text =
      "files in " + slow.speed.path + " take " + time_text(each) + " each to find and read";
  if (!slow.speed.file_system.empty()) text += ", from " + slow.speed.file_system;
  if (slow.count > 1) text += "; slow on " + counted(slow.count - 1, "other node") + " too";
  text += ": the roughly " + std::to_string(kFilesOfFramework) +
          " files that `import torch` reads take about " + time_text(each * kFilesOfFramework) +
          " here";
  if (slow.local.files > 0)
    text += ", " + time_text(each_ns(slow.local) * kFilesOfFramework) + " from " + slow.local.path;
  return text;
}

/// A check asks for the room in the workdir, but not in environments
/// (launch/session/inspect_message).
bool is_workdir(const std::string& path, const NodeCondition& condition) {
  return std::any_of(condition.disks.begin(), condition.disks.end(),
                     [&](const DiskFact& disk) { return disk.path == path; });
}

/// A path as a value in a flow mapping of YAML.
std::string value_of(const std::string& path) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-").find(c) != std::string_view::npos;
  };
  if (std::all_of(path.begin(), path.end(), is_plain)) return path;
  std::string quoted;
  append_json_string(quoted, path);
  return quoted;
}

std::string remedy_of(const Slow& slow) {
  const std::string preload = "import once per node (preload: [MODULE])";
  if (!is_of_network(slow.speed.file_system)) return preload;
  if (slow.is_workdir)
    return "start the job in a folder on a local disk, with sync: true, which copies it to the "
           "same path on each node, or " +
           preload;
  std::string_view environment = slow.speed.path;
  constexpr std::string_view kModules = "/lib";
  if (environment.ends_with(kModules)) environment.remove_suffix(kModules.size());
  const std::string copy = "/local/" + std::string(file_name(environment));
  return "copy the environment to a local disk of each node (sync: {paths: [{from: " +
         value_of(std::string(environment)) + ", to: " + value_of(copy) + "}]}) and start " + copy +
         "/bin/python, or " + preload;
}

/// "310", or "310..420" if these differ as printed.
class Range {
 public:
  void add(std::optional<double> value) {
    if (!value) return;
    least_ = least_ ? std::min(*least_, *value) : *value;
    most_ = std::max(most_, *value);
  }
  [[nodiscard]] std::string text() const {
    if (!least_) return "-";
    const std::string from = decimals(*least_, 0);
    const std::string to = decimals(most_, 0);
    return from == to ? from : from + ".." + to;
  }

 private:
  std::optional<double> least_;
  double most_ = 0;
};

struct Row {
  Range files;
  Range megabytes;
  std::string file_system;
  void add(const FolderSpeed& speed) {
    constexpr double kMegabyte = 1e6;
    files.add(speed.files_per_second());
    if (const auto rate = speed.bytes_per_second()) megabytes.add(*rate / kMegabyte);
    if (!is_of_network(file_system)) file_system = speed.file_system;
  }
};

}  // namespace

std::vector<CheckFinding> slow_files(const std::vector<CheckedNode>& nodes) {
  std::map<std::string, Slow> slow;  // by folder
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (const FolderSpeed& speed : nodes[i].condition.code) {
      if (!nodes[i].failure.empty() || !is_slow(speed)) continue;
      Slow& known = slow[speed.path];
      const bool is_slowest = known.count++ == 0 || each_ns(speed) > each_ns(known.speed);
      if (is_slowest) {
        const NodeCondition& condition = nodes[i].condition;
        known = {i, known.count, is_workdir(speed.path, condition), speed, condition.local};
      }
    }
  }
  std::vector<CheckFinding> findings;
  for (const auto& [path, one] : slow)
    findings.push_back(
        {CheckFinding::Severity::note, {one.node}, "slow-files", text_of(one), remedy_of(one)});
  return findings;
}

std::string folders_text(const std::vector<CheckedNode>& nodes) {
  std::vector<std::pair<std::string, Row>> rows;  // in the order in which they were asked for
  const auto add = [&](const std::string& name, const FolderSpeed& speed) {
    const auto known =
        std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == name; });
    Row& row = known == rows.end() ? rows.emplace_back(name, Row{}).second : known->second;
    row.add(speed);
  };
  for (const CheckedNode& node : nodes) {
    for (const FolderSpeed& speed : node.condition.code) add(speed.path, speed);
  }
  if (rows.empty()) return "";
  for (const CheckedNode& node : nodes) {
    const FolderSpeed& local = node.condition.local;
    if (local.files > 0) add(local.path + " (to compare)", local);
  }
  std::vector<Cells> cells = {{"files in", "files/s", "MB/s", "file system"}};
  for (const auto& [name, row] : rows)
    cells.push_back({name, row.files.text(), row.megabytes.text(),
                     row.file_system.empty() ? "-" : row.file_system});
  return table_text(cells);
}

}  // namespace dlaunch
