#include "cli/command_line.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/advice.h"
#include "cli/command_mistakes.h"
#include "cli/habits.h"
#include "cli/print.h"
#include "jobfile/shell_quote.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

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

/// Whether a word is this option by any of `names`, which commas separate: "--np", "--np=4", "-n4",
/// "-qn4".
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

void CommandOptions::list(const std::string& names, std::optional<std::vector<std::string>>& target,
                          const std::string& help, const std::string& type) {
  if (!is_wanted(names)) return;
  const auto take = [&target](const std::vector<std::string>& words) {
    target.emplace();
    for (const std::string& word : words) {
      if (!word.empty()) target->push_back(word);
    }
  };
  app_of(app_)
      .add_option_function<std::vector<std::string>>(names, take, help)
      ->expected(0, CLI::detail::expected_max_vector_size)
      ->type_name(type)
      ->group(group_);
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

/// Connects CommandOptions with a CLI::App. `after`: the words after "--".
struct CommandParser {
  static void describe(const Subcommand& command, CLI::App& app);
  [[nodiscard]] static bool parses(const Subcommand& command,
                                   const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& after);
  static int run(const Subcommand& command, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& after);
};

namespace {

/// "-n", "--np"; not the spellings with "_".
std::vector<std::string> shown_names(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true, false)};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back('-' + name);
  for (const std::string& name : option.get_lnames()) {
    if (name.find('_') == std::string::npos) names.push_back("--" + name);
  }
  return names;
}

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

  std::string make_option_name(const CLI::Option* option, bool /*is_positional*/) const override {
    return joined(shown_names(*option));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_name().empty() || option->get_items_expected_max() == 0
               ? ""
               : ' ' + option->get_type_name();
  }

 private:
  bool takes_command_;
};

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && (word[1] == '-' || is_letter(word[1]));
}

/// The error for an empty or forgotten value; empty: none. If FOLDER is unset, `--clean "$FOLDER"`
/// does not mean `--clean` alone, and with RUN unset, `stop "$RUN"` does not mean just any run. In
/// `--hosts -n 2` the value was forgotten. After "--name=" CLI11 would take the next word as value.
std::string wrong_word_in(const CLI::App& app, const std::vector<std::string>& arguments) {
  const auto empty = [](const std::string& option) {
    return option + " got an empty argument; is a variable unset?";
  };
  std::string list;
  for (auto word = arguments.begin(); word != arguments.end() && *word != "--"; ++word) {
    if (!looks_like_option(*word)) {
      if (word->empty()) return empty(list.empty() ? app.get_name() : list);
      continue;
    }
    const CLI::Option* const option = option_in(app, *word);
    const std::string name = word->substr(0, word->find('='));
    const bool takes_value = option != nullptr && option->get_expected_max() > 0;
    const bool is_list = takes_value && option->get_expected_min() == 0;
    list = is_list ? name : "";
    if (takes_value && name.size() + 1 == word->size()) return empty(name);  // "--name="
    const bool is_alone = takes_value && !is_list && (word->starts_with("--") || word->size() == 2);
    if (!is_alone || name.size() != word->size() || word + 1 == arguments.end()) continue;
    ++word;
    if (word->empty()) return empty(name);
    if (looks_like_option(*word) && option_in(app, *word) != nullptr)
      return name + " needs a value, but \"" + *word + "\" is an option";
  }
  return {};
}

int parse(CLI::App& app, bool takes_command, const std::vector<std::string>& arguments) {
  if (std::string mistake = wrong_word_in(app, arguments); !mistake.empty())
    return print_error(Error{exit_code::kUsage, std::move(mistake)});
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
  if (const auto line = line_instead(arguments)) return "; " + *line;
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
           more_words(arguments.begin() + 1, arguments.end());
  std::string list;
  for (const std::string_view name : command_names(groups, 0))
    list.append(list.empty() ? "; the commands: " : ", ").append(name);
  return list;
}

int unknown(const Groups& groups, const std::vector<std::string>& arguments) {
  const std::string& word = arguments.front();
  if (std::string mistake = batch_script_in(arguments); !mistake.empty())
    return print_error(Error{exit_code::kJobFile, std::move(mistake)});
  return print_error(Error{exit_code::kUsage, "unknown command \"" + word + '"' +
                                                  advice_for_command(groups, arguments) +
                                                  "\n         try: dlaunch --help"});
}

/// Handles command lines without a known command: help, version and mistakes.
int answer(const Groups& groups, const std::vector<std::string>& arguments,
           const std::vector<std::string>& after) {
  if (arguments.empty()) return print_error(Error{exit_code::kUsage, kNoCommand});
  if (!arguments.front().starts_with('-')) {
    std::vector<std::string> words = arguments;  // "torchrun --nproc_per_node 2 -- train.py"
    words.insert(words.end(), after.begin(), after.end());
    return unknown(groups, words);
  }
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
bool CommandParser::parses(const Subcommand& command, const std::vector<std::string>& arguments,
                           const std::vector<std::string>& after) {
  CLI::App app;
  command.describe(CommandOptions(&app, &arguments));
  if (has_habits(app, arguments)) return false;
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return wrong_word_in(app, arguments).empty() &&
           option_as_program(app, command.takes_command, arguments, after).empty();
  } catch (const CLI::Error&) {
    return false;
  }
}

int CommandParser::run(const Subcommand& command, const std::vector<std::string>& arguments,
                       const std::vector<std::string>& after) {
  const bool asks = contains(arguments, "--help") || contains(arguments, "-h");
  if (command.takes_any_words && !asks) return command.execute();
  if (parses(command, arguments, after)) return command.execute();
  CLI::App app;
  describe(command, app);
  const auto own = without_habits(app, arguments, after);
  if (!own) return print_error(own.error());
  const int code = parse(app, command.takes_command, *own);
  if (code != kParsed) return code;
  if (std::string mistake = option_as_program(app, command.takes_command, *own, after);
      !mistake.empty())
    return print_error(Error{exit_code::kUsage, std::move(mistake)});
  return command.execute();
}

namespace {

/// `dlaunch -n 4 -- python train.py`, as with mpirun, means the first command (run). nullopt: that
/// command lacks the first option. A job.yaml in this folder is not run without a command.
std::optional<int> without_command(const Groups& groups, const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& after) {
  const Subcommand& first = groups.front().commands.front();
  const bool has_command = !after.empty();
  if (arguments.empty() && has_command) return CommandParser::run(first, arguments, after);
  CLI::App app;
  CommandParser::describe(first, app);
  const bool is_ours =
      !arguments.empty() && arguments.front().starts_with('-') &&
      (option_in(app, arguments.front()) != nullptr || has_habits(app, {arguments.front()})) &&
      option_in(app, arguments.front()) != app.get_help_ptr();
  if (!is_ours) return std::nullopt;
  const auto other = first_other(app, arguments, arguments.begin());
  if (other == arguments.end() && !has_command) {
    return print_error(
        Error{exit_code::kUsage, "no job and no command given; to run job.yaml: " + app.get_name() +
                                     more_words(arguments.begin(), arguments.end())});
  }
  if (other == arguments.end() || find_command(groups, *other) == nullptr)
    return CommandParser::run(first, arguments, after);
  return print_error(Error{exit_code::kUsage, "options come after the command: dlaunch " + *other +
                                                  more_words(arguments.begin(), other) +
                                                  more_words(other + 1, arguments.end()) +
                                                  (has_command ? " --" : "") +
                                                  more_words(after.begin(), after.end())});
}

}  // namespace

const Subcommand* find_command(const Groups& groups, std::string_view name) {
  for (const CommandGroup& group : groups) {
    for (const Subcommand& command : group.commands)
      if (command.name == name) return &command;
  }
  return nullptr;
}

CommandHelp help_of(const Subcommand& command) {
  CLI::App app;
  CommandParser::describe(command, app);
  CommandHelp help{HelpText(command.takes_command).make_usage(&app, app.get_name()), {}};
  for (const CLI::Option* option : app.get_options()) {
    const bool has_value = option->get_items_expected_max() > 0;
    help.options.push_back({shown_names(*option), has_value ? option->get_type_name() : "",
                            option->get_description(), option->get_group()});
  }
  return help;
}

int run_command_line(const std::vector<CommandGroup>& groups,
                     const std::vector<std::string>& arguments,
                     const std::vector<std::string>& after) {
  if (!arguments.empty()) {
    if (const Subcommand* command = find_command(groups, arguments.front()))
      return CommandParser::run(*command, {arguments.begin() + 1, arguments.end()}, after);
  }
  if (const auto code = without_command(groups, arguments, after)) return *code;
  return answer(groups, arguments, after);
}

}  // namespace dlaunch
