#include "launch/questions/py_spy_delivery.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <unistd.h>

#include "launch/console/debug_log.h"
#include "os/clock.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kToRead{3};
constexpr std::uint64_t kLargestPiece = 64 * 1024;
constexpr std::uint64_t kMostOnTheWay = std::uint64_t{4} << 20;  // to one node
constexpr std::chrono::milliseconds kDelay{500};

}  // namespace

void PySpyDelivery::bring(NodeId node, const std::string& path) {
  const auto [target, is_new] =
      targets_.try_emplace(node, Target{sync::Window(kMostOnTheWay, kDelay)});
  if (!is_new) return;
  if (program_.empty()) return read(path);
  send(node, target->second);
}

void PySpyDelivery::read(const std::string& path) {
  if (reading_) return;
  Environment environment = environment_from_block(environ);
  std::string& search_path = environment["PATH"];
  search_path = path + ':' + search_path;
  ProgramCall call{.argv = reader_, .limit = kToRead, .environment = std::move(environment)};
  call.most_output = wire::kMostPySpy;
  reading_.emplace(loop_, std::move(call),
                   [this](Result<ProgramOutput> output) { have_read(std::move(output)); });
}

void PySpyDelivery::have_read(Result<ProgramOutput> output) {
  reading_.reset();
  std::vector<NodeId> nodes;
  for (const auto& [node, target] : targets_) nodes.push_back(node);
  if (!output || !output->succeeded() || output->out.empty()) {
    std::string why =
        output ? first_line(output->errors) : "finding py-spy on this machine took too long";
    if (why.empty()) why = "py-spy on this machine cannot be read";
    for (const NodeId node : nodes) end(node, why);
    return;
  }
  if (!nodes.empty()) program_ = std::move(output->out);
  for (const NodeId node : nodes) send(node, targets_.at(node));
}

void PySpyDelivery::send(NodeId node, Target& target) {
  while (target.window.open() && target.sent < program_.size()) {
    const std::uint64_t size = std::min(
        {target.window.piece(), kLargestPiece, std::uint64_t{program_.size()} - target.sent});
    nodes_.send(node,
                wire::PySpyData{target.sent, program_.size(), program_.substr(target.sent, size)});
    target.sent += size;
    target.window.sent(size, monotonic_now());
  }
}

void PySpyDelivery::on(NodeId node, const wire::PySpyTaken& taken) {
  const auto target = targets_.find(node);
  if (target == targets_.end() || program_.empty()) return;
  if (!taken.problem.empty())
    return end(node, "the copy from this machine cannot be stored on the node: " + taken.problem);
  target->second.window.taken(taken.up_to, monotonic_now());
  if (taken.up_to < program_.size()) return send(node, target->second);
  debug_log::info("py-spy was sent to " + nodes_.cluster().name_of(node) + ": " +
                  size_text(program_.size()));
  end(node, "");
}

void PySpyDelivery::node_lost(NodeId node) {
  targets_.erase(node);
  if (targets_.empty()) program_ = std::string();
}

void PySpyDelivery::end(NodeId node, const std::string& problem) {
  node_lost(node);
  done_(node, problem);
}

}  // namespace dlaunch
