#include "launch/keep/kept_row.h"

#include <chrono>
#include <utility>

namespace dlaunch {

namespace {

constexpr std::size_t kMostText = 400;
constexpr std::size_t kMostFindings = 4;

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
  row.state = kept_state_text(node.state);
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

}  // namespace dlaunch
