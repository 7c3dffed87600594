#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include "cli/print.h"

namespace dlaunch {

namespace {

constexpr int kParsed = -1;  // no exit code: go on

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

void CommandOptions::number(const std::string& names, std::optional<std::uint32_t>& target,
                            const std::string& help, const std::string& type) {
  app_of(app_).add_option(names, target, help)->type_name(type);
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

int parse(CLI::App& app, const std::vector<std::string>& arguments, const std::string& help) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 wants it so
  } catch (const CLI::Success& answer) {
    return app.exit(answer);
  } catch (const CLI::ParseError& error) {
    return print_error(
        Error{exit_code::kUsage, std::string(error.what()) + "\n         try: " + help});
  }
  return kParsed;
}

int unknown(const std::vector<Subcommand>& commands, const std::string& word) {
  std::string message = "unknown command \"" + word + "\"";
  const bool job_file = word.ends_with(".yaml") || word.ends_with(".yml");
  for (const Subcommand& command : commands) {
    if (word.starts_with(command.name) || command.name.starts_with(word)) {
      message += ", did you mean \"" + command.name + "\"?";
      return print_error(Error{exit_code::kUsage, message});
    }
  }
  message += job_file ? "; to run a job file: dlaunch run " + word
                      : "; to run a program: dlaunch run -- " + word;
  return print_error(Error{exit_code::kUsage, message + "\n         try: dlaunch --help"});
}

/// Help, version and mistakes: everything before a command is known.
int answer(const std::vector<Subcommand>& commands, const std::vector<std::string>& arguments) {
  CLI::App program(
      "dlaunch starts a distributed training job and looks after it until every process is gone.",
      "dlaunch");
  program.set_version_flag("--version", "dlaunch " DLAUNCH_VERSION);
  program.require_subcommand(1);
  program.footer(
      "Example:\n  dlaunch run -n 4 -- python train.py\n\ndlaunch COMMAND --help tells more.");
  for (const Subcommand& command : commands)
    program.add_subcommand(command.name, command.description);
  if (!arguments.empty() && !arguments.front().starts_with('-'))
    return unknown(commands, arguments.front());
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
  for (const Subcommand& command : commands) {
    if (!arguments.empty() && arguments.front() == command.name)
      return CommandParser::run(command, arguments);
  }
  return answer(commands, arguments);
}

}  // namespace dlaunch
