// "did you mean ...?"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::spec {

/// The candidate that was most likely meant: smallest edit distance (insertion, deletion,
/// substitution, exchange of neighbours; '-' and '_' and letter case count as equal), at most a
/// third of the length; the first of equals. Nullopt: nothing is near.
[[nodiscard]] std::optional<std::string_view> nearest(
    std::string_view text, const std::vector<std::string_view>& candidates);

/// `, did you mean "candidate"?`; empty: nothing is near.
[[nodiscard]] std::string did_you_mean(std::string_view text,
                                       const std::vector<std::string_view>& candidates);

}  // namespace dlaunch::spec
