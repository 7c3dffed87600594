// Shell text made of words that a foreign file gives, and the other way round.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::spec {

/// Appends literal text to the inside of a word in double quotes.
void append_in_double_quotes(std::string& word, std::string_view text);

/// One word of a shell command in which $NAME and ${NAME} are expanded and nothing else is, and
/// whose value stays one word.
[[nodiscard]] std::string quote_but_variables(std::string_view text);

/// Words as one shell line, each quoted whole.
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// The words of one simple command; nullopt: it is more than that (pipes, lists, redirections,
/// variables, substitutions), or a quote is open.
[[nodiscard]] std::optional<std::vector<std::string>> simple_words(std::string_view line);

}  // namespace dlaunch::spec
