// Members of untrusted JSON objects: one that is missing or of another type counts as empty. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace dlaunch {

/// `text` as a JSON object; nullopt if it is not one.
[[nodiscard]] std::optional<nlohmann::json> parse_json_object(std::string_view text);

[[nodiscard]] std::string json_string(const nlohmann::json& object, const char* name);
[[nodiscard]] std::optional<std::int64_t> json_number(const nlohmann::json& object,
                                                      const char* name);
[[nodiscard]] bool json_boolean(const nlohmann::json& object, const char* name);

}  // namespace dlaunch
