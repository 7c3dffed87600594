// Conversions between lists of words and shell text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::jobfile {

/// Appends literal text to the inside of a word in double quotes.
void append_in_double_quotes(std::string& word, std::string_view text);

/// One word of a shell command. The shell expands only $NAME and ${NAME} in it, and the result
/// stays one word.
[[nodiscard]] std::string quote_but_variables(std::string_view text);

/// The words of one simple command; nullopt: not a simple command (pipes, lists, redirections,
/// variables, substitutions), or an unclosed quote.
[[nodiscard]] std::optional<std::vector<std::string>> simple_words(std::string_view line);

/// "NAME=value", also bash's "NAME+=value".
[[nodiscard]] bool is_assignment(std::string_view word);

/// A word of a shell command: without quotes, and as spelled.
struct ShellWord {
  std::string text;
  std::string spelled;
};
using ShellCommand = std::vector<ShellWord>;

[[nodiscard]] std::vector<std::string> texts_of(const ShellCommand& command);

/// Like simple_commands(), with the spelling of each word.
[[nodiscard]] std::vector<ShellCommand> shell_commands(std::string_view text);

/// The words of each simple command, without quotes and redirections. Groups, subshells and
/// substitutions become separate commands; reserved words count as words. An unclosed quote ends
/// with the text; no text is an error.
[[nodiscard]] std::vector<std::vector<std::string>> simple_commands(std::string_view text);

}  // namespace dlaunch::jobfile
