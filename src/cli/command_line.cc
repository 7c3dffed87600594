#include "cli/command_line.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/foreign_words.h"
#include "cli/print.h"
#include "spec/nearest.h"
#include "spec/shell_quote.h"

namespace dlaunch {

namespace {

constexpr int kParsed = -1;  // no exit code: go on
constexpr const char* kNoCommand =
    "no command given; for example: dlaunch run -n 4 -- python train.py\n"
    "         try: dlaunch --help";

CLI::App& app_of(void* pointer) {
  return *static_cast<CLI::App*>(pointer);
}

}  // namespace

void CommandOptions::positional(const std::string& name, std::string& target,
                                const std::string& help) {
  app_of(app_).add_option(name, target, help);
}

void CommandOptions::value(const std::string& names, std::string& target, const std::string& help,
                           const std::string& type) {
  app_of(app_).add_option(names, target, help)->type_name(type);
}

void CommandOptions::value(const std::string& names, std::optional<std::string>& target,
                           const std::string& help, const std::string& type) {
  app_of(app_).add_option(names, target, help)->type_name(type);
}

void CommandOptions::number(const std::string& names, std::optional<std::uint32_t>& target,
                            const std::string& help, const std::string& type) {
  app_of(app_).add_option(names, target, help)->type_name(type)->check([](const std::string& word) {
    constexpr std::size_t kDigits = 9;
    const bool is_number = !word.empty() && word.size() <= kDigits &&
                           word.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? std::string() : "expected a number, 0 or more, not \"" + word + '"';
  });
}

void CommandOptions::values(const std::string& names, std::vector<std::string>& target,
                            const std::string& help, const std::string& type) {
  app_of(app_)
      .add_option(names, target, help)
      ->type_name(type)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void CommandOptions::flag(const std::string& names, bool& target, const std::string& help) {
  app_of(app_).add_flag(names, target, help);
}

void CommandOptions::count(const std::string& names, int& target, const std::string& help) {
  app_of(app_).add_flag(names, target, help);
}

void CommandOptions::exclude(const std::string& name, const std::string& other) {
  app_of(app_).get_option(name)->excludes(app_of(app_).get_option(other));
}

/// Where CommandOptions get their CLI::App from.
struct CommandParser {
  static int run(const Subcommand& command, const std::vector<std::string>& arguments);
};

namespace {

bool is_job_file(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

std::string joined(std::vector<std::string>::const_iterator from,
                   std::vector<std::string>::const_iterator to) {
  std::string line;
  for (; from != to; ++from) line += ' ' + spec::shell_quote(*from);
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
  const auto near = given.starts_with("--") ? spec::nearest(given, candidates) : std::nullopt;
  if (near) message.append(", did you mean \"").append(*near).append("\"?");
  return message;
}

/// What nobody asked for. The likeliest reason is a command without "--" in front.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& arguments) {
  const std::vector<std::string> extra = app.remaining();
  const auto first = std::find_if(arguments.begin(), arguments.end(), [&](const auto& word) {
    return std::find(extra.begin(), extra.end(), word) != extra.end();
  });
  if (first == arguments.end()) return "too many arguments";
  if (app.get_name() == "dlaunch exec" && !first->starts_with('-')) {
    return "a command goes after --: dlaunch exec" + joined(arguments.begin(), first) + " --" +
           joined(first, arguments.end());
  }
  const CLI::Option* positional = app.get_option_no_throw("JOB");
  const bool has_job = positional != nullptr && positional->count() > 0;
  const std::string job = has_job ? positional->results().front() : "";
  const auto program = std::find(arguments.begin(), arguments.end(), job);
  if (has_job && !is_job_file(job) && program < first) {
    return "a command goes after --: " + app.get_name() + joined(arguments.begin(), program) +
           " --" + (job.ends_with(".py") ? " python3" : "") + joined(program, arguments.end());
  }
  if (first->starts_with('-')) return unknown_option(app, *first);
  if (app.get_option_no_throw("JOB") == nullptr) return "unexpected argument \"" + *first + '"';
  return "unexpected argument \"" + *first + "\"; arguments of the command go after --";
}

/// CLI11 names an option by its longest name; the user may have typed another one.
std::string as_typed(const CLI::App& app, const std::vector<std::string>& arguments,
                     const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  for (const std::string& word : arguments) {
    const std::string given = word.substr(0, word.find('='));
    if (option != nullptr && given.starts_with('-') && option->check_name(given)) return given;
  }
  return name;
}

/// The option that came last, or before another option, where a value was needed; or one that came
/// twice where only one value has a meaning.
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

std::string mistake_in(const CLI::App& app, const std::vector<std::string>& arguments,
                       const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(app, arguments);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return wrong_count(app, arguments);
  std::string message = error.what();
  constexpr std::string_view kExcludes = " excludes ";
  const std::size_t at = message.find(kExcludes);
  if (at == std::string::npos) return message;
  return as_typed(app, arguments, message.substr(0, at)) + " cannot be given together with " +
         as_typed(app, arguments, message.substr(at + kExcludes.size()));
}

int parse(CLI::App& app, const std::vector<std::string>& arguments, const std::string& help) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 wants it so
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& error) {
    return print_error(
        Error{exit_code::kUsage, mistake_in(app, arguments, error) + "\n         try: " + help});
  }
  return kParsed;
}

/// Of equally near ones the one of the same length: "rusn" is "runs".
std::optional<std::string> nearest_command(const std::vector<Subcommand>& commands,
                                           const std::string& word) {
  std::vector<std::string_view> names;
  for (const Subcommand& command : commands) {
    if (command.name.size() == word.size()) names.push_back(command.name);
  }
  for (const Subcommand& command : commands) {
    if (command.name.size() != word.size()) names.push_back(command.name);
  }
  const auto near = spec::nearest(word, names);
  return near ? std::optional<std::string>(*near) : std::nullopt;
}

int unknown(const std::vector<Subcommand>& commands, const std::string& word) {
  std::string message = "unknown command \"" + word + "\"";
  if (is_planned_command(word))
    return print_error(Error{exit_code::kUsage, '"' + word + "\" is not available yet"});
  for (const Subcommand& command : commands) {
    if (word.starts_with(command.name) || command.name.starts_with(word)) {
      message += ", did you mean \"" + command.name + "\"?";
      return print_error(Error{exit_code::kUsage, message});
    }
  }
  if (const auto meant = command_meant(word)) {
    message.append(", did you mean \"").append(*meant).append("\"?");
    return print_error(Error{exit_code::kUsage, message});
  }
  if (const auto near = nearest_command(commands, word)) {
    message.append(", did you mean \"").append(*near).append("\"?");
    return print_error(Error{exit_code::kUsage, message});
  }
  message += is_job_file(word) ? "; to run a job file: dlaunch run " + word
                               : "; to run a program: dlaunch run -- " + word;
  return print_error(Error{exit_code::kUsage, message + "\n         try: dlaunch --help"});
}

/// Help, version and mistakes: everything before a command is known.
int answer(const std::vector<Subcommand>& commands, const std::vector<std::string>& arguments) {
  CLI::App program(
      "dlaunch starts a distributed training job and looks after it until every process is gone.",
      "dlaunch");
  program.set_version_flag("-V,--version", "dlaunch " DLAUNCH_VERSION);
  program.footer(
      "Example:\n  dlaunch run -n 4 -- python train.py\n\ndlaunch COMMAND --help tells more.");
  for (const Subcommand& command : commands)
    program.add_subcommand(command.name, command.description);
  if (!arguments.empty() && !arguments.front().starts_with('-'))
    return unknown(commands, arguments.front());
  if (arguments.empty()) return print_error(Error{exit_code::kUsage, kNoCommand});
  for (const Subcommand& command : commands) {
    const auto at = std::find(arguments.begin(), arguments.end(), command.name);
    if (at == arguments.end()) continue;
    return print_error(Error{exit_code::kUsage, "options come after the command: dlaunch " +
                                                    command.name + joined(arguments.begin(), at)});
  }
  const int code = parse(program, arguments, "dlaunch --help");
  return code == kParsed ? exit_code::kUsage : code;
}

}  // namespace

int CommandParser::run(const Subcommand& command, const std::vector<std::string>& arguments) {
  CLI::App app(command.description, "dlaunch " + command.name);
  app.footer(command.footer);
  command.describe(CommandOptions(&app));
  const std::string help = "dlaunch " + command.name + " --help";
  const int code = parse(app, {arguments.begin() + 1, arguments.end()}, help);
  return code == kParsed ? command.execute() : code;
}

int run_command_line(const std::vector<Subcommand>& commands,
                     const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "help") {  // as git and docker have it
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return run_command_line(commands, asked);
  }
  for (const Subcommand& command : commands) {
    if (!arguments.empty() && arguments.front() == command.name)
      return CommandParser::run(command, arguments);
  }
  return answer(commands, arguments);
}

}  // namespace dlaunch
