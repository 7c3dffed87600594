// Environment variables as a value: ordered, so that two equal environments print equally.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

using Environment = std::map<std::string, std::string, std::less<>>;

/// Parses a block of NAME=VALUE strings as in environ(7). Ignores entries without '='; the first of
/// two equal names counts, as in getenv(3).
[[nodiscard]] Environment environment_from_block(const char* const* block);

[[nodiscard]] std::optional<std::string> find_variable(const Environment& env,
                                                       std::string_view name);

/// True for [A-Za-z_][A-Za-z0-9_]*, the names that a shell can use (POSIX XBD 8.1).
[[nodiscard]] bool is_variable_name(std::string_view name);

/// Shell-style pattern with '*' and '?' only, as `env_pass: ["NCCL_*"]` uses it.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view name);

}  // namespace dlaunch
