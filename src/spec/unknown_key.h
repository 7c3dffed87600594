// What somebody who wrote an unknown key probably meant.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::spec {

/// Advice about a key that stands under `prefix` ("" or "restart.") and is not in the table, to be
/// appended to "unknown key X": a near name there, what other launchers call so, the place where
/// such a key belongs, or the names that there are. Empty if nothing helps.
[[nodiscard]] std::string advice_for_unknown_key(std::string_view prefix, std::string_view key);

}  // namespace dlaunch::spec
