#include "launch/keep/kept_row.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <unistd.h>

namespace dlaunch {

namespace {

constexpr std::size_t kMostText = 400;
constexpr std::size_t kMostFindings = 4;
constexpr std::size_t kRowsInPacket = 16;

}  // namespace

std::string cut_for_packet(std::string text) {
  if (text.size() > kMostText) text.resize(kMostText);
  return text;
}

std::uint64_t whole_milliseconds(MonotonicTime time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

KeptRow kept_row(const KeptNode& node, const std::optional<NodeCondition>& condition,
                 MonotonicTime now) {
  KeptRow row;
  row.name = node.name;
  row.state = kept_state_text(node);
  row.run = node.run;
  row.for_ms = whole_milliseconds(now - node.since);
  row.trouble = cut_for_packet(node.trouble);
  if (node.state != KeptNode::State::idle || !condition || !condition->problem.empty()) return row;
  row.was_asked = true;
  row.load_hundredths = condition->load_hundredths;
  for (const std::string& finding : condition->gpu_findings) {
    if (row.findings.size() < kMostFindings) row.findings.push_back(cut_for_packet(finding));
  }
  return row;
}

std::vector<KeptList> kept_lists(std::vector<KeptRow> rows, MonotonicTime left) {
  std::vector<KeptList> lists(
      std::max<std::size_t>(1, (rows.size() + kRowsInPacket - 1) / kRowsInPacket));
  for (KeptList& list : lists) {
    list.pid = static_cast<std::uint64_t>(::getpid());
    list.left_ms = whole_milliseconds(std::max(left, MonotonicTime(0)));
    list.last = &list == &lists.back();
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    lists[i / kRowsInPacket].nodes.push_back(std::move(rows[i]));
  return lists;
}

}  // namespace dlaunch
