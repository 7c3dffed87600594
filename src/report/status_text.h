// The state of a run, for people and for programs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/status.h"
#include "report/live_screen.h"
#include "text/json_text.h"

namespace dlaunch {

/// With this many ranks or more, each row shows a node.
inline constexpr std::size_t kNodeRows = 65;

/// Lines of at most `columns` columns, in ASCII except for texts from the ranks. The head has the
/// run, its nodes and the titles of the columns.
[[nodiscard]] ScreenPage status_page(const StatusReply& reply, std::size_t columns);

/// All lines of the page, each with its "\n".
[[nodiscard]] std::string status_text(const StatusReply& reply, std::size_t columns);

/// One object; docs/reference/commands.md has the members.
[[nodiscard]] std::string status_json(const StatusReply& reply);

/// Writes an array, as in status_json() and summary.json.
void write_spares(JsonText& json, const std::vector<SpareStatus>& spares);

/// "running", "waiting", "stopped": a rank's state according to the kernel and its CPU use, or how
/// the rank has ended.
[[nodiscard]] std::string state_words(const RankStatus& rank, bool is_watched);

}  // namespace dlaunch
