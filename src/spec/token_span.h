// How much of the source a YAML token covers; the parser tells only where it starts.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlaunch::spec {

/// Byte range inside one line.
struct TokenSpan {
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// The token at `offset`, which may lie at or beyond the end. Anchors and tags in front are stepped
/// over. Quoted texts go to their closing quote, plain ones to the next indicator; both at most to
/// the end of the line. Brackets, braces and block indicators count as one character.
[[nodiscard]] TokenSpan token_span(std::string_view text, std::size_t offset);

/// True if the token at `offset` is a quoted text whose closing quote is nowhere in the text;
/// yaml-cpp 0.7 takes the end of the file for it.
[[nodiscard]] bool is_unclosed_quote(std::string_view text, std::size_t offset);

}  // namespace dlaunch::spec
