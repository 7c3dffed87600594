// Finds the end of a YAML token; the parser reports only its start.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::jobfile {

/// Byte range within one line.
struct TokenSpan {
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// The token at `offset`, which may be at or beyond the end. Skips anchors and tags before it.
/// Quoted texts extend to their closing quote, plain ones to the next indicator, both at most to
/// the end of the line. Brackets, braces and block indicators count as one character.
[[nodiscard]] TokenSpan token_span(std::string_view text, std::size_t offset);

/// True if the token at `offset` is a quoted text without a closing quote; yaml-cpp 0.7 then reads
/// to the end of the file.
[[nodiscard]] bool is_unclosed_quote(std::string_view text, std::size_t offset);

/// Known messages of yaml-cpp 0.6 to 0.8 in plain words; other messages unchanged.
[[nodiscard]] std::string plain_yaml_message(std::string_view message);

/// A missing colon, or a colon without a space after it. A parser notices the mistake only at the
/// next key.
struct ColonMistake {
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string message;
};

/// Finds the mistake in a plain key without a value, "nodes:2", at `offset`.
[[nodiscard]] std::optional<ColonMistake> colon_mistake_in_key(std::string_view key,
                                                               std::size_t offset);

/// Finds the mistake in the line of `offset`, where a parser failed, or in the last non-empty line
/// before it.
[[nodiscard]] std::optional<ColonMistake> colon_mistake(std::string_view text, std::size_t offset);

}  // namespace dlaunch::jobfile
