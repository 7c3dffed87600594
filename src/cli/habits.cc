#include "cli/habits.h"

#include <filesystem>

#include <CLI/CLI.hpp>

#include "cli/advice.h"
#include "cli/command_mistakes.h"
#include "jobfile/launch_lines/typed_line.h"
#include "jobfile/shell_quote.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

using Words = std::vector<std::string>;
using jobfile::TypedLine;

/// How many words after `word` the option of `app` takes; -1: `app` has no such option.
int values_of(const CLI::App& app, const std::string& word) {
  const CLI::Option* option = option_in(app, word);
  if (option == nullptr) return -1;
  const bool is_long = word.starts_with("--");
  const bool holds_value = is_long ? word.find('=') != std::string::npos : word.size() > 2;
  return option->get_items_expected_min() > 0 && !holds_value ? 1 : 0;
}

bool is_job(const std::string& word) {
  std::error_code ignored;  // after an error, the word counts as no folder
  return is_job_file(word) || std::filesystem::is_directory(word, ignored);
}

jobfile::OwnCommand command_of(const CLI::App& app, const Words& after) {
  const bool has_format = app.get_option_no_throw("FORMAT") != nullptr;
  const auto is_argument = [has_format](const std::string& word) {
    return is_job(word) || (has_format && (word == "slurm" || word == "mpirun"));
  };
  return {[&app](const std::string& word) { return values_of(app, word); }, is_argument,
          !after.empty() && !after.front().starts_with('-'),
          app.get_option_no_throw("--sbatch") != nullptr};
}

/// The line to type. In it, a program follows "--", even if the user left "--" out.
std::string line_to_type(const CLI::App& app, const TypedLine& line, const Words& after) {
  const bool is_submit = app.get_option_no_throw("--sbatch") != nullptr;
  const bool is_run = app.get_name() == "dlaunch run";
  const auto left_out = static_cast<std::ptrdiff_t>(is_submit || is_run ? 0 : line.for_submit);
  std::string text = line.for_submit > 0 && is_run ? "dlaunch submit" : app.get_name();
  text += more_words(line.words.begin() + left_out, line.words.end());
  if (!line.program.empty() || !after.empty() || !line.arguments.empty()) text += " --";
  Words program = line.program;
  if (!program.empty() && !line.is_module) {
    const Words started = words_to_start(program.front());
    program.erase(program.begin());
    program.insert(program.begin(), started.begin(), started.end());
  }
  for (const Words& words : {program, after, line.arguments})
    text += more_words(words.begin(), words.end());
  return text;
}

Error unclear(const CLI::App& app, const Words& arguments, const Words& after,
              const TypedLine& line) {
  std::string message = plain_line(line.unclear) + " means different things to different launchers";
  for (const jobfile::Launchers one : line.meanings) {
    const TypedLine meant = in_own_words(arguments, command_of(app, after), one);
    if (!meant.unclear.empty() || !meant.without_value.empty()) continue;
    message += "\n         as with " + std::string(jobfile::name_of_launcher(one)) + ": " +
               line_to_type(app, meant, after);
    for (const jobfile::LeftOut& left : meant.left_out)
      message += "\n           " + plain_line(left.typed) + ": " + left.why;
  }
  return {exit_code::kUsage, message};
}

}  // namespace

bool has_habits(const CLI::App& app, const Words& arguments) {
  return app.get_option_no_throw("JOB") != nullptr &&
         has_foreign_option(arguments, command_of(app, {}));
}

Result<Words> without_habits(const CLI::App& app, const Words& arguments, const Words& after) {
  if (!has_habits(app, arguments)) return arguments;
  TypedLine line = in_own_words(arguments, command_of(app, after));
  if (!line.without_value.empty())
    return fail(exit_code::kUsage, plain_line(line.without_value) + " needs a value");
  if (!line.unclear.empty()) return tl::unexpected(unclear(app, arguments, after, line));
  if (line.left_out.empty()) {
    line.words.insert(line.words.end(), line.program.begin(), line.program.end());
    return line.words;
  }
  std::string message;
  for (const jobfile::LeftOut& one : line.left_out)
    message += (message.empty() ? "" : "\n         ") + plain_line(one.typed) + ": " + one.why;
  return fail(exit_code::kUsage, message + "\n         try: " + line_to_type(app, line, after));
}

}  // namespace dlaunch
