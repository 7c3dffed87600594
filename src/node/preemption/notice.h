// The content of a notice that a node is about to be taken away. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "model/time.h"

namespace dlaunch {

struct Notice {
  std::string reason;                             // one line for the user; may be empty
  std::optional<std::chrono::milliseconds> left;  // until the node is taken away; nullopt: unknown
  bool operator==(const Notice&) const = default;
};

/// A line "deadline: T" says when the node is taken away: in T seconds, or at an RFC 3339 time in
/// UTC ("2026-11-26T01:02:03Z"); other values of T are ignored. The reason is the first other line
/// that is not blank.
[[nodiscard]] Notice parse_notice(std::string_view text, WallTime now);

}  // namespace dlaunch
