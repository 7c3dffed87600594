// What a keeper reports about one of its nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/keep/keep_protocol.h"
#include "launch/keep/kept_nodes.h"
#include "model/check_report.h"
#include "model/time.h"

namespace dlaunch {

/// The beginning of a text, short enough for a packet to hold many.
[[nodiscard]] std::string cut_for_packet(std::string text);
[[nodiscard]] std::uint64_t whole_milliseconds(MonotonicTime time);

/// `condition`: what the node has answered; it is reported only of an idle node.
[[nodiscard]] KeptRow kept_row(const KeptNode& node, const std::optional<NodeCondition>& condition,
                               MonotonicTime now);

/// The rows in packets, each with the pid of this process and the time until the idle limit.
[[nodiscard]] std::vector<KeptList> kept_lists(std::vector<KeptRow> rows, MonotonicTime left);

}  // namespace dlaunch
