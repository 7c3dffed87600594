// Words for what a field takes and for what was found instead.
#pragma once

#include <string>

#include "spec/document.h"
#include "spec/field.h"

namespace dlaunch::spec {

/// What the field takes: "a duration such as 30s, 5m or 1h30m, or none". Words that are not
/// available yet are left out.
[[nodiscard]] std::string expectation(const Field& field);

/// "the number 3", "\"abc\"", "a list", "nothing".
[[nodiscard]] std::string found_instead(const Node& node);

/// What to write instead, beginning with "; " or ", "; empty if nothing is near.
[[nodiscard]] std::string correction(const Field& field, const Node& node);

/// The shortest usual spelling: "1m30s" for 90000 ms.
[[nodiscard]] std::string duration_text(Duration duration);

}  // namespace dlaunch::spec
