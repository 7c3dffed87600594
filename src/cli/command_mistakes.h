// What is wrong with a command line, and what was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace dlaunch {

using CommandWords = std::vector<std::string>;

/// The error, with the line to type, for a command that begins with an option: without a job file,
/// the words after "--" are the command, whose first word must be a program. Empty: no mistake.
/// `app` has parsed `arguments`.
[[nodiscard]] std::string option_as_program(const CLI::App& app, bool takes_command,
                                            const CommandWords& arguments,
                                            const CommandWords& after);

/// Whether the word has the name of a job file: *.yaml, *.yml, *.json.
[[nodiscard]] bool is_job_file(std::string_view word);

/// The words, quoted for a shell, each after a blank.
[[nodiscard]] std::string more_words(CommandWords::const_iterator from,
                                     CommandWords::const_iterator to);

/// The option of `app` that this word sets; the word may include the value: "--np=4", "-n4".
[[nodiscard]] const CLI::Option* option_in(const CLI::App& app, const std::string& word);

/// The first word from `word` on that is neither an option of `app` nor the value of one: an
/// argument, or an unknown option.
[[nodiscard]] CommandWords::const_iterator first_other(const CLI::App& app,
                                                       const CommandWords& words,
                                                       CommandWords::const_iterator word);

/// The error for `arguments` that `app` has refused. Most often the "--" before the command is
/// missing.
[[nodiscard]] std::string mistake_in(const CLI::App& app, bool takes_command,
                                     const CommandWords& arguments, const CLI::ParseError& error);

}  // namespace dlaunch
