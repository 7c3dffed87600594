// Phrases for error messages: what a field accepts, and what was found instead.
#pragma once

#include <string>

#include "jobfile/document.h"
#include "jobfile/field_table.h"

namespace dlaunch::jobfile {

/// What the field accepts: "a duration such as 30s, 5m or 1h30m, or none".
[[nodiscard]] std::string expectation(const Field& field);

/// "the number 3", "\"abc\"", "a list", "nothing".
[[nodiscard]] std::string found_instead(const Node& node);

/// What to write instead, beginning with "; " or ", "; empty: there is no good guess.
[[nodiscard]] std::string correction(const Field& field, const Node& node);

/// The shortest usual spelling: "1m30s" for 90000 ms.
[[nodiscard]] std::string duration_text(Duration duration);

}  // namespace dlaunch::jobfile
