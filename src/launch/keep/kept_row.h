// What a keeper tells about one of its nodes. Pure.
#pragma once

#include <optional>
#include <string>

#include "launch/keep/keep_protocol.h"
#include "launch/keep/kept_nodes.h"
#include "model/check_report.h"
#include "model/time.h"

namespace dlaunch {

/// The begin of a text, so that a packet holds many.
[[nodiscard]] std::string cut_for_packet(std::string text);
[[nodiscard]] std::uint64_t whole_milliseconds(MonotonicTime time);

/// `condition`: what the node has answered; it is told of an idle node.
[[nodiscard]] KeptRow kept_row(const KeptNode& node, const std::optional<NodeCondition>& condition,
                               MonotonicTime now);

}  // namespace dlaunch
