// Members of JSON objects that somebody else may have written: what is missing or of another type
// is empty. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace dlaunch {

/// The object that `text` is; nullopt if it is anything else, or no JSON.
[[nodiscard]] std::optional<nlohmann::json> parse_json_object(std::string_view text);

[[nodiscard]] std::string json_string(const nlohmann::json& object, const char* name);
[[nodiscard]] std::optional<std::int64_t> json_number(const nlohmann::json& object,
                                                      const char* name);
[[nodiscard]] bool json_boolean(const nlohmann::json& object, const char* name);

}  // namespace dlaunch
