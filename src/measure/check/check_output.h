// The output of a check, as text and JSON (docs/how-to/check-nodes.md). Pure.
#pragma once

#include <string>

#include "model/check_report.h"

namespace dlaunch {

/// The table, then each finding with its remedy.
[[nodiscard]] std::string check_text(const CheckReport& report);

/// One JSON object, format 1 of docs/how-to/check-nodes.md.
[[nodiscard]] std::string check_json(const CheckReport& report);

/// The last line: "2 of 4 nodes are bad", "all 4 nodes are good".
[[nodiscard]] std::string check_verdict(const CheckReport& report);

}  // namespace dlaunch
