#include "node/sync/sync_remarks.h"

#include <algorithm>

#include "jobfile/hostlist.h"
#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostNamed = 3;

std::string named(const std::vector<std::string>& paths, std::uint64_t count) {
  std::string text;
  for (std::size_t i = 0; i < paths.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : ", ") + plain_line(paths[i]);
  return text + (count > std::min(paths.size(), kMostNamed) ? ", ..." : "");
}

}  // namespace

std::vector<std::string> remarks_on(const SyncReport& report) {
  std::vector<std::string> remarks;
  for (const SyncedNode& node : report.nodes) {
    if (node.replaced == 0) continue;
    remarks.push_back(
        "sync: " + node.name + ": replaced " + std::to_string(node.replaced) +
        (node.replaced == 1 ? " file that was" : " files that were") +
        " different there and did not come from a sync: " + named(node.examples, node.replaced));
  }
  if (!report.special.empty())
    remarks.push_back("sync: not copied, because they are not files: " +
                      named(report.special, report.special.size()));
  return remarks;
}

std::vector<std::string> remarks_on(const StageReport& report) {
  std::vector<std::string> remarks = report.notes;
  if (!report.special.empty())
    remarks.push_back("stage: not copied, because they are not files: " +
                      named(report.special, report.special.size()));
  return remarks;
}

std::string staged_text(const StageReport& report) {
  std::uint64_t bytes = 0;
  std::uint64_t removed = 0;
  for (const StagedNode& node : report.nodes) {
    bytes += node.from_launcher;
    removed = std::max(removed, node.removed);
  }
  return "staged " + files_text(report.extent.files, report.extent.bytes) + " on " +
         std::to_string(report.nodes.size()) + (report.nodes.size() == 1 ? " node" : " nodes") +
         " in " + duration_text(report.took) + ": " + size_text(bytes) + " sent from here" +
         (removed > 0 ? ", " + std::to_string(removed) + " removed that no longer exist here" : "");
}

std::string problems_of_nodes(const std::vector<std::pair<std::string, std::string>>& problems) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const auto& [name, problem] : problems) {
    if (problem.empty()) continue;
    auto same = std::find_if(found.begin(), found.end(),
                             [&what = problem](const auto& one) { return one.first == what; });
    if (same == found.end()) same = found.insert(same, {problem, {}});
    same->second.push_back(name);
  }
  std::string text;
  for (const auto& [problem, names] : found)
    text +=
        (text.empty() ? "" : "\n         ") + jobfile::compress_hostlist(names) + ": " + problem;
  return text;
}

std::string copied_text(const SyncReport& report) {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  for (const SyncedNode& node : report.nodes) {
    files += node.files;
    bytes += node.bytes;
  }
  return "copied the workdir to " + std::to_string(report.nodes.size()) +
         (report.nodes.size() == 1 ? " node" : " nodes") + " in " + duration_text(report.took) +
         ": " + files_text(files, bytes) + " sent";
}

}  // namespace dlaunch
