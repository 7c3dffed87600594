// Words of a shell script as the shell would read them, with the values that are known.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/dialects/shell_words.h"

namespace dlaunch::jobfile {

/// The value of a shell variable; nullopt: not known before the script runs.
using VariableValue = std::function<std::optional<std::string>(std::string_view name)>;

/// Takes a line with those that a backslash joins to it.
[[nodiscard]] std::string take_whole_line(std::string_view& text);

/// Whether the word begins a declaration: declare, local, readonly.
[[nodiscard]] bool declares(std::string_view word);

/// The line without a declaration and its options: "declare -a ARGS=(" is "ARGS=(".
[[nodiscard]] std::string_view without_declaration(std::string_view line);

/// "ARGS=(", whose words stand in this line and the next ones.
[[nodiscard]] bool begins_array(std::string_view line);

/// Adds the lines up to the quote that ends an assignment: `ARGS="` with lines below it.
void take_open_quote(std::string& line, std::string_view& rest);

/// Skips the lines of the here-document that the line begins: "cat <<END".
void skip_here_document(std::string_view line, std::string_view& rest);

/// Whether a command, by its first word and its line, changes the shell in which a program starts:
/// source, module, conda.
[[nodiscard]] bool prepares_shell(std::string_view word, std::string_view line);

/// A word after the expansion of the variables whose values are known.
struct ExpandedWord {
  std::string text;      // without quotes; what is not known stays in it
  std::string spelled;   // for a shell, which reads it as it would have read the script's word
  bool is_known = true;  // no expansion is left in `text`; ${NAME:-DEFAULT} counts as its default
};

[[nodiscard]] ExpandedWord expanded(std::string_view spelled, const VariableValue& value_of);

/// The text for `bash -c` with the values of its variables, which may hold variables again; those
/// that a shell would not read as it reads the text stay.
[[nodiscard]] std::string with_values(std::string text, const VariableValue& value_of);

/// The value as an unquoted variable stands for it: words, of which only patterns are expanded.
[[nodiscard]] std::string unquoted_value(std::string_view value);

/// Words that are not expanded, as those of a command line.
[[nodiscard]] ShellCommand literal_words(const std::vector<std::string>& words);

/// Whether sh would read the word in another way than bash.
[[nodiscard]] bool needs_bash(std::string_view spelled);

/// The position of the ")" that closes a group, whose content begins at `at`; npos: there is none.
[[nodiscard]] std::size_t end_of_group(std::string_view text, std::size_t at);

/// The script with a variable in the place of each substitution, "$(pwd)", which is added to
/// `found`. Comments and single quotes stay.
[[nodiscard]] std::string without_substitutions(std::string_view script,
                                                std::vector<std::string>& found);

/// The text with the substitutions in their places again.
[[nodiscard]] std::string with_substitutions(std::string text,
                                             const std::vector<std::string>& substitutions);

/// Whether a variable of that name holds a secret: its value does not belong in a job file.
[[nodiscard]] bool is_secret(std::string_view name);

}  // namespace dlaunch::jobfile
