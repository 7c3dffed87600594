#include "measure/check/folder_findings.h"

#include <algorithm>
#include <map>
#include <optional>

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

struct Slow {
  std::uint32_t node = 0;  // the slowest
  std::size_t count = 0;   // of slow nodes
  FolderSpeed speed;
  FolderSpeed local;
};

std::string text_of(const Slow& slow) {
  const std::uint64_t each = each_ns(slow.speed);
  std::string text =
      "files in " + slow.speed.path + " take " + time_text(each) + " each to find and read";
  if (!slow.speed.file_system.empty()) text += ", from " + slow.speed.file_system;
  if (slow.count > 1)
    text +=
        "; on " + counted(slow.count - 1, "other node") + " more than " + time_text(kSlowFileNs);
  text += ": the some " + std::to_string(kFilesOfFramework) +
          " files of `import torch` take about " + time_text(each * kFilesOfFramework) + " here";
  if (slow.local.files > 0)
    text += ", " + time_text(each_ns(slow.local) * kFilesOfFramework) + " from " + slow.local.path;
  return text;
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
      if (!nodes[i].failure.empty() || speed.files < kFewFiles || each_ns(speed) < kSlowFileNs)
        continue;
      Slow& known = slow[speed.path];
      const bool is_slowest = known.count++ == 0 || each_ns(speed) > each_ns(known.speed);
      if (is_slowest) known = {i, known.count, speed, nodes[i].condition.local};
    }
  }
  std::vector<CheckFinding> findings;
  for (const auto& [path, one] : slow) {
    const std::string preload = "import once per node (preload: [MODULE])";
    findings.push_back({CheckFinding::Severity::note,
                        {one.node},
                        "slow-files",
                        text_of(one),
                        is_of_network(one.speed.file_system)
                            ? "copy the folder to a local disk of each node (sync: {paths: [...]}, "
                              "or dlaunch stage --from " +
                                  path + " --to PATH), or " + preload
                            : preload});
  }
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
