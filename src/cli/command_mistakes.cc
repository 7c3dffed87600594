#include "cli/command_mistakes.h"

#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/advice.h"
#include "jobfile/shell_quote.h"
#include "jobfile/suggestion.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

using Words = CommandWords;

std::string unknown_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string given = word.substr(0, word.find('='));
  std::string message = "unknown option \"" + given + '"';
  if (app.get_option_no_throw("--now") != nullptr && (given == "-9" || given == "--force"))
    return message + "; to kill at once: dlaunch stop --now";
  const auto near = given.starts_with("--") ? jobfile::nearest(given, candidates) : std::nullopt;
  if (near) message.append(", did you mean \"").append(*near).append("\"?");
  return message;
}

/// "a command goes after --: dlaunch run -n 4 -- python3 train.py", where `program` is the first
/// word of the command; or why the command must not run.
std::string with_dashes(const CLI::App& app, const Words& words, Words::const_iterator program) {
  if (std::string mistake = batch_script_in({program, words.end()}); !mistake.empty())
    return mistake;
  return "a command goes after --: " + app.get_name() + more_words(words.begin(), program) +
         " -- " + jobfile::shell_line(words_to_start(*program)) +
         more_words(program + 1, words.end());
}

/// The first word that may begin a command without "--" before it, or an unknown option.
Words::const_iterator bare_command(const CLI::App& app, const Words& arguments) {
  auto first = first_other(app, arguments, arguments.begin());
  const bool has_format = app.get_option_no_throw("FORMAT") != nullptr;
  if (has_format && first != arguments.end() && !first->starts_with('-'))
    first = first_other(app, arguments, first + 1);
  return first;
}

/// The error for an unexpected word. Most often the "--" before the command is missing.
std::string unexpected(const CLI::App& app, bool takes_command, const Words& arguments) {
  const auto first = bare_command(app, arguments);
  if (first != arguments.end() && first->starts_with('-')) return unknown_option(app, *first);
  if (first != arguments.end() && takes_command && !is_job_file(*first))
    return with_dashes(app, arguments, first);
  const Words extra = app.remaining();
  const std::string word = extra.empty() ? "" : extra.front();
  if (word.starts_with('-')) return unknown_option(app, word);
  const bool copies = app.get_option_no_throw("--from") != nullptr;
  if (copies && first != arguments.end() && !is_job_file(*first) && extra.size() == 1)
    return "to copy a file or folder: " + app.get_name() + " --from " +
           jobfile::shell_quote(*first) + " --to " + jobfile::shell_quote(word);
  return "unexpected argument \"" + word + '"' +
         (takes_command ? "; arguments of the command go after --" : "");
}

/// The name by which the user typed the option; CLI11 reports its longest name.
std::string as_typed(const CLI::App& app, const std::vector<std::string>& arguments,
                     const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  for (const std::string& word : arguments) {
    const std::string given = word.substr(0, word.find('='));
    if (option != nullptr && given.starts_with('-') && option->check_name(given)) return given;
  }
  return name;
}

/// An option without the value that it needs, or one that is given twice and takes one value.
std::string wrong_count(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const CLI::Option* option =
        arguments[i].starts_with('-') ? app.get_option_no_throw(arguments[i]) : nullptr;
    const bool alone = i + 1 == arguments.size() || arguments[i + 1].starts_with('-');
    if (option != nullptr && alone && option->get_expected_min() > 0 &&
        option->get_items_expected_min() > 0)
      return arguments[i] + " needs a value (" + option->get_type_name() + ')';
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 1 && option->get_items_expected_max() == 1)
      return as_typed(app, arguments, option->get_name()) + " is given more than once";
  }
  return "an option has no value";
}

}  // namespace

std::string option_as_program(const CLI::App& app, bool takes_command, const Words& arguments,
                              const Words& after) {
  const CLI::Option* job = app.get_option_no_throw("JOB");
  const bool is_command = takes_command && job != nullptr && job->count() == 0 && !after.empty();
  if (!is_command || !after.front().starts_with('-')) return {};
  std::string message = '"' + plain_line(after.front()) + "\" is not a program";
  std::error_code ignored;  // a file that cannot be looked at is not suggested
  if (std::filesystem::is_regular_file("job.yaml", ignored))
    message += "; to pass these arguments to job.yaml: " + app.get_name() +
               more_words(arguments.begin(), arguments.end()) + " job.yaml --" +
               more_words(after.begin(), after.end());
  return message;
}

bool is_job_file(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

std::string more_words(std::vector<std::string>::const_iterator from,
                       std::vector<std::string>::const_iterator to) {
  std::string line;
  for (; from != to; ++from) line += ' ' + jobfile::shell_quote(*from);
  return line;
}

const CLI::Option* option_in(const CLI::App& app, const std::string& word) {
  const bool is_long = word.starts_with("--");
  return app.get_option_no_throw(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
}

Words::const_iterator first_other(const CLI::App& app, const Words& words,
                                  Words::const_iterator word) {
  while (word != words.end() && word->size() > 1 && word->starts_with('-')) {
    const CLI::Option* option = option_in(app, *word);
    if (option == nullptr) return word;
    const bool has_value = option->get_items_expected_min() > 0;
    const bool holds_value =
        word->find('=') != std::string::npos || (!word->starts_with("--") && word->size() > 2);
    ++word;
    if (has_value && !holds_value && word != words.end()) ++word;
  }
  return word;
}

std::string mistake_in(const CLI::App& app, bool takes_command,
                       const std::vector<std::string>& arguments, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return unexpected(app, takes_command, arguments);
  // Options of the user's command may be named like options of dlaunch.
  const auto first = takes_command ? bare_command(app, arguments) : arguments.end();
  if (first != arguments.end() && !first->starts_with('-') && !is_job_file(*first) &&
      first + 1 != arguments.end() && !std::filesystem::is_directory(*first))
    return with_dashes(app, arguments, first);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wrong_count(app, arguments);
  std::string message = error.what();
  constexpr std::string_view kExcludes = " excludes ";
  const std::size_t at = message.find(kExcludes);
  if (at == std::string::npos) return message;
  return as_typed(app, arguments, message.substr(0, at)) + " cannot be given together with " +
         as_typed(app, arguments, message.substr(at + kExcludes.size()));
}

}  // namespace dlaunch
