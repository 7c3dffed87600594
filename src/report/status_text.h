// The state of a run, for people and for programs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/status.h"
#include "report/live_screen.h"
#include "text/json_text.h"

namespace dlaunch {

/// From this many ranks on, a row stands for a node.
inline constexpr std::size_t kNodeRows = 65;

/// Lines of at most `columns` columns, ASCII but for what comes from the ranks. The head: the run,
/// its nodes, the titles of the columns.
[[nodiscard]] ScreenPage status_page(const StatusReply& reply, std::size_t columns);

/// All of them, each with its "\n".
[[nodiscard]] std::string status_text(const StatusReply& reply, std::size_t columns);

/// One object; docs/reference/commands.md has the members.
[[nodiscard]] std::string status_json(const StatusReply& reply);

/// An array, as in status_json() and summary.json.
void write_spares(JsonText& json, const std::vector<SpareStatus>& spares);

/// "running", "waiting", "stopped": what the kernel and its use of processors say of a rank, or how
/// it has ended.
[[nodiscard]] std::string state_words(const RankStatus& rank, bool is_watched);

}  // namespace dlaunch
