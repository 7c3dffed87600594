// NodeNotices limits what an agent can show to the user: an agent may be a program that another
// user of the node has put there. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "text/plain_text.h"

namespace dlaunch {

class NodeNotices {
 public:
  static constexpr std::size_t kMost = 100;      // notes of one session
  static constexpr std::size_t kColumns = 1000;  // of one note

  /// The part of `text` to show: one line without control characters; nullopt: nothing,
  /// because the agent has sent too many notes.
  [[nodiscard]] std::optional<std::string> take(std::string_view text) {
    if (++taken_ > kMost) return std::nullopt;
    std::string line = cut_to_columns(plain_line(text), kColumns);
    if (taken_ == kMost) line += " (dlaunch shows no more notes from this node)";
    return line;
  }

 private:
  std::size_t taken_ = 0;
};

}  // namespace dlaunch
