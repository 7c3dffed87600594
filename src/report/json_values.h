// Reads members of untrusted JSON, such as files in a run folder. A member that is missing or has
// another type counts as empty. Pure.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dlaunch {

/// Null if `object` has no such member, or is not an object.
[[nodiscard]] const nlohmann::json& json_member(const nlohmann::json& object, const char* name);

/// Null if `array` has no such element, or is not an array.
[[nodiscard]] const nlohmann::json& json_item(const nlohmann::json& array, std::size_t index);

/// A string unchanged, null as an empty text, everything else as JSON.
[[nodiscard]] std::string json_text_of(const nlohmann::json& value);

/// The member as a number; `otherwise` if it is not a number.
[[nodiscard]] double json_real(const nlohmann::json& object, const char* name, double otherwise);

}  // namespace dlaunch
