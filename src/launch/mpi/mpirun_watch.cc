#include "launch/mpi/mpirun_watch.h"

#include <utility>

#include "text/plain_text.h"

namespace dlaunch {

namespace {

constexpr std::size_t kLastLines = 12;
constexpr std::size_t kMostLine = 1000;

/// Open MPI frames its messages with lines of dashes.
bool says_something(const std::string& line) {
  return line.find_first_not_of(" -=*\t") != std::string::npos;
}

}  // namespace

MpirunWatch::MpirunWatch(const LaunchPlan& plan) : attempt_(plan.attempt), mpirun_(plan.mpirun) {
  if (!mpirun_) return;
  for (const NodePlan& node : plan.nodes) {
    // Nothing is started on a node without ranks.
    if (!node.ranks.empty()) to_come_.insert(node.id);
  }
}

std::optional<wire::StartMpirun> MpirunWatch::awaited(NodeId node,
                                                      const wire::RanksAwaited& answer) {
  const bool is_last = answer.attempt == attempt_ && to_come_.erase(node) > 0 && to_come_.empty();
  if (!is_last) return std::nullopt;
  return wire::StartMpirun{attempt_, mpirun_->argv, mpirun_->environment};
}

std::vector<std::string> MpirunWatch::add(const wire::MpirunOutput& output) {
  std::vector<std::string> lines;
  if (output.attempt != attempt_) return lines;
  for (const char c : output.bytes) {
    if (c != '\n') {
      if (partial_.size() < kMostLine) partial_ += c;
      continue;
    }
    lines.push_back(plain_line(std::exchange(partial_, {})));
    keep(lines.back());
  }
  return lines;
}

std::vector<std::string> MpirunWatch::rest() {
  if (partial_.empty()) return {};
  std::vector<std::string> lines{plain_line(std::exchange(partial_, {}))};
  keep(lines.front());
  return lines;
}

void MpirunWatch::keep(const std::string& line) {
  if (!says_something(line)) return;
  last_.push_back(line);
  if (last_.size() > kLastLines) last_.pop_front();
}

std::string MpirunWatch::said() const {
  std::string text;
  for (const std::string& line : last_) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace dlaunch
