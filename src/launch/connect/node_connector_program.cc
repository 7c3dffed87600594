// How a node that lacks dlaunch gets it: from the launcher, or from another node.
#include <algorithm>
#include <utility>

#include <sys/utsname.h>

#include "launch/connect/node_opening.h"
#include "launch/connect/remote_script.h"
#include "os/clock.h"

namespace dlaunch {

namespace {

std::string architecture() {
  utsname system{};
  ::uname(&system);
  return system.machine;
}

}  // namespace

void NodeConnector::needs_binary(Opening& opening) {
  const std::string there = opening.opening->argument();
  if (there != architecture()) {
    return answer(opening.node,
                  fail(exit_code::kNodeLost, "its processor is " + there +
                                                 ", but this dlaunch is for " + architecture() +
                                                 "; all nodes need the same processor type"));
  }
  if (std::exchange(opening.staging, true))
    return answer(opening.node, fail(exit_code::kNodeLost, "unexpected answer \"missing\""));
  if (!may_wait(opening)) return send_binary(opening);
  opening.has_waited = true;
  opening.counted_until = monotonic_now();
  forwarding_.lacks(opening.node);
}

/// Whether another node may give this node the binary. Once the node has waited for another node,
/// or a folder has refused the binary, the launcher sends it.
bool NodeConnector::may_wait(const Opening& opening) {
  if (!settings_.serve || opening.purpose != Purpose::fresh || opening.folder >= 0 ||
      opening.has_waited)
    return false;
  const auto others = std::count_if(targets_.begin(), targets_.end(),
                                    [](const NodeTarget& target) { return !target.is_local(); });
  if (static_cast<std::size_t>(others) < ProgramRelay::kFewestNodes) return false;
  return !forwarding_.fetcher().empty();
}

void NodeConnector::has_program(NodeId node) {
  forwarding_.has(node);
}

void NodeConnector::has_no_agent(NodeId node) {
  forwarding_.gone(node);
}

void NodeConnector::set_ranks_run(bool run) {
  forwarding_.close(run);
}

void NodeConnector::served(NodeId node, const wire::ProgramServed& answer) {
  forwarding_.served(node, answer);
}

/// Time that other nodes took does not count against this node's limit.
void NodeConnector::count_wait(Opening& opening) {
  const MonotonicTime now = monotonic_now();
  const MonotonicTime waited = now - std::exchange(opening.counted_until, now);
  opening.deadline += waited;
  queue_.extend(opening.node, waited);
  if (settings_.has_waited) settings_.has_waited();
}

void NodeConnector::feed(NodeId node, const std::string& order) {
  Opening& opening = *openings_.at(node.value);
  count_wait(opening);
  if (order.empty()) return send_binary(opening);
  opening.is_fetching = true;
  const std::string& fetcher = forwarding_.fetcher();
  send(opening, fetch_line(agent_of(opening), fetcher.size(), order), fetcher);
}

void NodeConnector::has_not_fetched(Opening& opening) {
  if (!std::exchange(opening.is_fetching, false)) return not_staged(opening);
  count_wait(opening);
  forwarding_.failed(opening.node, opening.opening->argument());
  send_binary(opening);
}

void NodeConnector::send_binary(Opening& opening) {
  const auto bytes = binary_.bytes();
  if (!bytes) return answer(opening.node, tl::unexpected(bytes.error()));
  opening.folder = std::max(opening.folder, 0);
  send(opening, stage_line(agent_of(opening), static_cast<std::size_t>(opening.folder)), *bytes);
}

/// The shell on the node waits for such a line.
void NodeConnector::send(Opening& opening, std::string line, std::string_view bytes) {
  opening.opening.emplace(session_of(opening.node));
  UniqueFd to_send = duplicate(opening.input.get());
  if (!to_send)
    return answer(opening.node,
                  fail(exit_code::kNodeLost, "too many open files (raise ulimit -n)"));
  opening.upload =
      std::make_unique<BinaryUpload>(loop_, std::move(to_send), std::move(line), bytes);
  watch_output(opening);
}

void NodeConnector::not_staged(Opening& opening) {
  const std::string why = opening.opening->argument();
  // The agent itself failed; nothing was being staged.
  if (!opening.staging || opening.opening->started())
    return answer(opening.node, fail(exit_code::kNodeLost, why));
  opening.trouble += (opening.trouble.empty() ? "" : "; ") + why;
  if (static_cast<std::size_t>(++opening.folder) < kFolderCount) return next_step(opening);
  answer(opening.node,
         fail(exit_code::kNodeLost, "no folder there can hold the program: " + opening.trouble));
}

}  // namespace dlaunch
