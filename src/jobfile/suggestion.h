// Suggestions: "did you mean ...?"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::jobfile {

/// The most likely intended candidate: smallest edit distance (insertion, deletion, substitution,
/// transposition; '-' equals '_', case is ignored), at most a third of the length; ties go to the
/// first. Nullopt: none is close.
[[nodiscard]] std::optional<std::string_view> nearest(
    std::string_view text, const std::vector<std::string_view>& candidates);

/// `, did you mean "candidate"?`; empty: none is close.
[[nodiscard]] std::string did_you_mean(std::string_view text,
                                       const std::vector<std::string_view>& candidates);

/// Advice about a key under `prefix` ("" or "restart.") that is not in the table, to append to
/// "unknown key X": a similar name there, this launcher's name for another launcher's key, the
/// section where such a key belongs, or the known names. Empty if there is no good advice.
[[nodiscard]] std::string advice_for_unknown_key(std::string_view prefix, std::string_view key);

}  // namespace dlaunch::jobfile
