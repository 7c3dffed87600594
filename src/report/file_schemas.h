// The JSON Schemas of the files in a run folder (docs/reference/schemas), embedded in the program.
// Pure.
#pragma once

#include <optional>
#include <string_view>

namespace dlaunch {

/// `name`: "events", "summary" or "plan"; nullopt for any other name.
[[nodiscard]] std::optional<std::string_view> file_schema(std::string_view name);

}  // namespace dlaunch
