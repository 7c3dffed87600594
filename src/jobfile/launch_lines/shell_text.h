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

/// In bytes; a longer value counts as unknown.
constexpr std::size_t kLongestValue = 64 * 1024;

/// Whether the word begins a declaration: declare, local, readonly.
[[nodiscard]] bool declares(std::string_view word);

/// The line without a declaration and its options: "declare -a ARGS=(" becomes "ARGS=(".
[[nodiscard]] std::string_view without_declaration(std::string_view line);

/// Whether the line begins an array, "ARGS=(", whose words are in this line and the next ones.
[[nodiscard]] bool begins_array(std::string_view line);

/// Whether a command with this first word and line changes the shell in which a program starts:
/// source, module, conda.
[[nodiscard]] bool prepares_shell(std::string_view word, std::string_view line);

/// A word after the expansion of the variables whose values are known.
struct ExpandedWord {
  std::string text;      // without quotes; unknown expansions stay in it
  std::string spelled;   // for a shell, which reads it as it would have read the script's word
  bool is_known = true;  // no expansion is left in `text`; ${NAME:-DEFAULT} counts as its default
};

[[nodiscard]] ExpandedWord expanded(std::string_view spelled, const VariableValue& value_of);

/// The text for `bash -c` with the known values of its variables; variables in these values are
/// replaced, too. A variable stays if its value contains quotes or operators, because a shell does
/// not interpret those in the value of a variable.
[[nodiscard]] std::string with_values(std::string text, const VariableValue& value_of);

/// The value as a shell reads an unquoted variable: words in which the shell expands only patterns.
[[nodiscard]] std::string unquoted_value(std::string_view value);

/// Words that are not expanded, like those of a command line.
[[nodiscard]] ShellCommand literal_words(const std::vector<std::string>& words);

/// Whether sh would read the word differently from bash.
[[nodiscard]] bool needs_bash(std::string_view spelled);

/// The offset of the ")" that closes the group whose content begins at `at`; npos: there is none.
[[nodiscard]] std::size_t end_of_group(std::string_view text, std::size_t at);

/// Whether a comment begins at `at`: "#" at the beginning of a word.
[[nodiscard]] bool begins_comment(std::string_view text, std::size_t at);

/// The offset after the quoted text, the escape, the expansion or the character at `at`.
[[nodiscard]] std::size_t behind_part(std::string_view text, std::size_t at);

/// The variable that stands in for the substitution `number` of a script (script_text.h).
[[nodiscard]] std::string substitution_stand_in(std::size_t number);

/// The text with the substitutions in place of their stand-ins.
[[nodiscard]] std::string with_substitutions(std::string text,
                                             const std::vector<std::string>& substitutions);

/// Whether a variable of that name holds a secret: its value does not belong in a job file.
[[nodiscard]] bool is_secret(std::string_view name);

}  // namespace dlaunch::jobfile
