// A check, for people and for tools (docs/check.md). Pure.
#pragma once

#include <string>

#include "model/check_report.h"

namespace dlaunch {

/// The table, and below it a line for each finding, with what to do.
[[nodiscard]] std::string check_text(const CheckReport& report);

/// One JSON object, format 1 of docs/check.md.
[[nodiscard]] std::string check_json(const CheckReport& report);

/// "2 of 4 nodes are bad", "all 4 nodes are good"; what the last line says.
[[nodiscard]] std::string check_verdict(const CheckReport& report);

}  // namespace dlaunch
