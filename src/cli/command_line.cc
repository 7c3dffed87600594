#include "cli/command_line.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/advice.h"
#include "cli/print.h"
#include "jobfile/shell_quote.h"
#include "jobfile/suggestion.h"

namespace dlaunch {

namespace {

constexpr int kParsed = -1;  // not an exit code: continue
constexpr const char* kNoCommand =
    "no command given; for example: dlaunch run -n 4 -- python train.py\n"
    "         try: dlaunch --help";

CLI::App& app_of(void* pointer) {
  return *static_cast<CLI::App*>(pointer);
}

}  // namespace

/// By any of `names`, separated by commas: "--np", "--np=4", "-n4", "-qn4".
bool CommandOptions::is_wanted(std::string_view names) const {
  if (given_ == nullptr) return true;
  const auto names_it = [](const std::string& word, std::string_view name) {
    if (name.starts_with("--")) return word.substr(0, word.find('=')) == name;
    return word.size() > 1 && word[0] == '-' && word[1] != '-' &&
           word.find(name[1], 1) != std::string::npos;
  };
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (std::any_of(given_->begin(), given_->end(),
                    [&](const std::string& word) { return names_it(word, name); }))
      return true;
  }
  return false;
}

void CommandOptions::positional(const std::string& name, std::string& target,
                                const std::string& help) {
  app_of(app_).add_option(name, target, help)->type_name("");
}

void CommandOptions::value(const std::string& names, std::string& target, const std::string& help,
                           const std::string& type) {
  if (!is_wanted(names)) return;
  app_of(app_).add_option(names, target, help)->type_name(type)->group(group_);
}

void CommandOptions::value(const std::string& names, std::optional<std::string>& target,
                           const std::string& help, const std::string& type) {
  if (!is_wanted(names)) return;
  app_of(app_).add_option(names, target, help)->type_name(type)->group(group_);
}

void CommandOptions::number(const std::string& names, std::optional<std::uint32_t>& target,
                            const std::string& help, const std::string& type) {
  if (!is_wanted(names)) return;
  CLI::Option* option = app_of(app_).add_option(names, target, help);
  option->type_name(type)->group(group_)->check([](const std::string& word) {
    constexpr std::size_t kDigits = 9;
    const bool is_number = !word.empty() && word.size() <= kDigits &&
                           word.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? std::string() : "expected a number, 0 or more, not \"" + word + '"';
  });
}

void CommandOptions::values(const std::string& names, std::vector<std::string>& target,
                            const std::string& help, const std::string& type) {
  if (!is_wanted(names)) return;
  app_of(app_)
      .add_option(names, target, help)
      ->type_name(type)
      ->group(group_)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void CommandOptions::flag(const std::string& names, bool& target, const std::string& help) {
  if (!is_wanted(names)) return;
  app_of(app_).add_flag(names, target, help)->group(group_);
}

void CommandOptions::count(const std::string& names, int& target, const std::string& help) {
  if (!is_wanted(names)) return;
  app_of(app_).add_flag(names, target, help)->group(group_);
}

void CommandOptions::exclude(const std::string& name, const std::string& other) {
  CLI::Option* const one = app_of(app_).get_option_no_throw(name);
  CLI::Option* const two = app_of(app_).get_option_no_throw(other);
  if (one != nullptr && two != nullptr) one->excludes(two);
}

CommandOptions CommandOptions::in_group(const std::string& title) const {
  CommandOptions options = *this;
  options.group_ = title;
  return options;
}

/// Gives CommandOptions their CLI::App.
struct CommandParser {
  static void describe(const Subcommand& command, CLI::App& app);
  [[nodiscard]] static bool parses(const Subcommand& command,
                                   const std::vector<std::string>& arguments);
  static int run(const Subcommand& command, const std::vector<std::string>& arguments);
};

namespace {

/// The help of CLI11 with both forms of a command line, and without the lists of options that
/// exclude each other, which an error names.
class HelpText : public CLI::Formatter {
 public:
  explicit HelpText(bool takes_command = false) : takes_command_(takes_command) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;)
      text.erase(at, 1);
    return text;
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, name);
    if (!takes_command_) return usage;
    usage.erase(usage.find_last_not_of('\n') + 1);
    const bool has_job = app->get_option_no_throw("JOB") != nullptr;
    const std::string command = " -- COMMAND [ARGUMENT...]\n";
    if (!has_job) return usage + command;
    return usage + " [-- ARGUMENT...]\n       " + usage.substr(7, usage.rfind(" [JOB]") - 7) +
           command;
  }

  /// "-n, --np N" for "-n,--processes,--np"; spellings with "_" are not shown.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return option->get_name(true, false);
    std::string names;
    for (const std::string& name : option->get_snames())
      names += (names.empty() ? "-" : ", -") + name;
    for (const std::string& name : option->get_lnames()) {
      if (name.find('_') == std::string::npos) names += (names.empty() ? "--" : ", --") + name;
    }
    return names;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() || option->get_items_expected_max() == 0
               ? ""
               : ' ' + option->get_type_name();
  }

 private:
  bool takes_command_;
};

bool is_job_file(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

std::string joined(std::vector<std::string>::const_iterator from,
                   std::vector<std::string>::const_iterator to) {
  std::string line;
  for (; from != to; ++from) line += ' ' + jobfile::shell_quote(*from);
  return line;
}

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
  const bool takes_a_job = app.get_option_no_throw("JOB") != nullptr;
  const auto advice = takes_a_job ? advice_for_option(given) : std::nullopt;
  if (advice) return message + "; " + *advice;
  const auto near = given.starts_with("--") ? jobfile::nearest(given, candidates) : std::nullopt;
  if (near) message.append(", did you mean \"").append(*near).append("\"?");
  return message;
}

using Words = std::vector<std::string>;

/// The option of `app` that the word gives, also with its value: "--np=4", "-n4".
const CLI::Option* option_in(const CLI::App& app, const std::string& word) {
  const bool is_long = word.starts_with("--");
  return app.get_option_no_throw(is_long ? word.substr(0, word.find('=')) : word.substr(0, 2));
}

/// The first word from `word` on that is neither an option of `app` nor the value of one: an
/// argument, or an unknown option.
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

/// "a command goes after --: dlaunch run -n 4 -- python3 train.py", where `program` is the first
/// word of the command; or why the command must not run.
std::string with_dashes(const CLI::App& app, const Words& words, Words::const_iterator program) {
  if (std::string mistake = batch_script_in({program, words.end()}); !mistake.empty())
    return mistake;
  return "a command goes after --: " + app.get_name() + joined(words.begin(), program) + " -- " +
         jobfile::shell_line(words_to_start(*program)) + joined(program + 1, words.end());
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
  return "unexpected argument \"" + word + '"' +
         (takes_command ? "; arguments of the command go after --" : "");
}

/// The name of the option that the user typed; CLI11 names its longest one.
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

int parse(CLI::App& app, bool takes_command, const std::vector<std::string>& arguments) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(),
                                       arguments.rend()));  // CLI11 takes them in reverse
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& error) {
    return print_error(Error{exit_code::kUsage, mistake_in(app, takes_command, arguments, error) +
                                                    "\n         try: " + app.get_name() +
                                                    " --help"});
  }
  return kParsed;
}

using Groups = std::vector<CommandGroup>;

const Subcommand* find_command(const Groups& groups, std::string_view name) {
  for (const CommandGroup& group : groups) {
    for (const Subcommand& command : group.commands)
      if (command.name == name) return &command;
  }
  return nullptr;
}

/// All names in the order of the help, those of `size` characters first.
std::vector<std::string_view> command_names(const Groups& groups, std::size_t size) {
  std::vector<std::string_view> names;
  for (const CommandGroup& group : groups)
    for (const Subcommand& command : group.commands) names.push_back(command.name);
  std::stable_partition(names.begin(), names.end(),
                        [size](std::string_view name) { return name.size() == size; });
  return names;
}

/// What the user probably meant by an unknown command; appended to "unknown command X". A program's
/// name is never taken as a misspelt command. Among equally near names the one of the same length
/// wins: "rusn" is "runs".
std::string advice_for_command(const Groups& groups, const std::vector<std::string>& arguments) {
  const std::string& word = arguments.front();
  if (const auto meant = command_meant(word)) return "; " + *meant;
  const bool is_path = word.find_first_of("/.") != std::string::npos;
  if (is_job_file(word))
    return "; to run a job file: dlaunch run " + jobfile::shell_line(arguments);
  const std::vector<std::string_view> names = command_names(groups, word.size());
  for (const std::string_view name : names) {
    if (!is_path && (word.starts_with(name) || name.starts_with(word)))
      return ", did you mean \"" + std::string(name) + "\"?";
  }
  const auto near = is_path ? std::nullopt : jobfile::nearest(word, names);
  if (near) return ", did you mean \"" + std::string(*near) + "\"?";
  if (!sounds_like_command(word) && can_start(word))
    return "; to run a program: dlaunch run -- " + jobfile::shell_line(words_to_start(word)) +
           joined(arguments.begin() + 1, arguments.end());
  std::string list;
  for (const std::string_view name : command_names(groups, 0))
    list.append(list.empty() ? "; the commands: " : ", ").append(name);
  return list;
}

int unknown(const Groups& groups, const std::vector<std::string>& arguments) {
  const std::string& word = arguments.front();
  if (is_planned_command(word))
    return print_error(Error{exit_code::kUsage, '"' + word + "\" is not available yet"});
  if (std::string mistake = batch_script_in(arguments); !mistake.empty())
    return print_error(Error{exit_code::kJobFile, std::move(mistake)});
  return print_error(Error{exit_code::kUsage, "unknown command \"" + word + '"' +
                                                  advice_for_command(groups, arguments) +
                                                  "\n         try: dlaunch --help"});
}

/// Help, version and mistakes: everything without a known command.
int answer(const Groups& groups, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return print_error(Error{exit_code::kUsage, kNoCommand});
  if (!arguments.front().starts_with('-')) return unknown(groups, arguments);
  CLI::App program(
      "dlaunch starts a distributed training job and looks after it until every process is gone.",
      "dlaunch");
  const auto help = std::make_shared<HelpText>();
  help->label("SUBCOMMAND", "COMMAND");
  program.formatter(help);
  program.set_version_flag("-V,--version", "dlaunch " DLAUNCH_VERSION);
  program.footer(
      "Example:\n  dlaunch run -n 4 -- python train.py\n\ndlaunch COMMAND --help shows the options "
      "of a command.");
  for (const CommandGroup& group : groups) {
    for (const Subcommand& command : group.commands)
      program.add_subcommand(command.name, command.description)->group(group.title);
  }
  const int code = parse(program, false, arguments);
  return code == kParsed ? exit_code::kUsage : code;
}

}  // namespace

void CommandParser::describe(const Subcommand& command, CLI::App& app) {
  app.name("dlaunch " + command.name);
  app.description(command.description);
  app.footer(command.footer);
  app.formatter(std::make_shared<HelpText>(command.takes_command));
  app.set_help_flag();  // list --help last, after the options that users look for
  command.describe(CommandOptions(&app));
  const auto options = app.get_options([](const CLI::Option* one) { return one->nonpositional(); });
  const std::string last = options.empty() ? "Options" : options.back()->get_group();
  app.set_help_flag("-h,--help", "Print this text")->group(last);
}

/// Builds only the options that are given, because building all takes longer than reading the job.
/// Error messages need all of them.
bool CommandParser::parses(const Subcommand& command, const std::vector<std::string>& arguments) {
  CLI::App app;
  command.describe(CommandOptions(&app, &arguments));
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return true;
  } catch (const CLI::Error&) {
    return false;
  }
}

int CommandParser::run(const Subcommand& command, const std::vector<std::string>& arguments) {
  if (parses(command, arguments)) return command.execute();
  CLI::App app;
  describe(command, app);
  const int code = parse(app, command.takes_command, arguments);
  return code == kParsed ? command.execute() : code;
}

namespace {

/// `dlaunch -n 4 -- python train.py`, as with mpirun, means the first command (run). nullopt: that
/// command lacks the first option. A job.yaml in this folder does not run without a command.
std::optional<int> without_command(const Groups& groups, const std::vector<std::string>& arguments,
                                   bool has_command) {
  const Subcommand& first = groups.front().commands.front();
  if (arguments.empty() && has_command) return CommandParser::run(first, arguments);
  CLI::App app;
  CommandParser::describe(first, app);
  const bool is_ours = !arguments.empty() && arguments.front().starts_with('-') &&
                       option_in(app, arguments.front()) != nullptr &&
                       option_in(app, arguments.front()) != app.get_help_ptr();
  if (!is_ours) return std::nullopt;
  const auto other = first_other(app, arguments, arguments.begin());
  if (other == arguments.end() && !has_command) {
    return print_error(
        Error{exit_code::kUsage, "no job and no command given; to run job.yaml: " + app.get_name() +
                                     joined(arguments.begin(), arguments.end())});
  }
  if (other == arguments.end() || find_command(groups, *other) == nullptr)
    return CommandParser::run(first, arguments);
  return print_error(Error{exit_code::kUsage, "options come after the command: dlaunch " + *other +
                                                  joined(arguments.begin(), other) +
                                                  joined(other + 1, arguments.end()) +
                                                  (has_command ? " -- COMMAND" : "")});
}

}  // namespace

int run_command_line(const std::vector<CommandGroup>& groups,
                     const std::vector<std::string>& arguments, bool has_command) {
  if (!arguments.empty() && arguments.front() == "help") {  // as with git and docker
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return run_command_line(groups, asked, false);
  }
  if (!arguments.empty()) {
    if (const Subcommand* command = find_command(groups, arguments.front()))
      return CommandParser::run(*command, {arguments.begin() + 1, arguments.end()});
  }
  if (const auto code = without_command(groups, arguments, has_command)) return *code;
  return answer(groups, arguments);
}

}  // namespace dlaunch
