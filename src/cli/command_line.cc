#include "cli/command_line.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "cli/print.h"

namespace dlaunch {

namespace {

CLI::App& app_of(void* pointer) {
  return *static_cast<CLI::App*>(pointer);
}

}  // namespace

struct CommandLine::State {
  CLI::App program{
      "dlaunch starts a distributed training job and looks after it until every process is gone.",
      "dlaunch"};
  std::vector<std::pair<CLI::App*, Action>> commands;
};

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

void CommandOptions::exclude(const std::string& name, const std::string& other) {
  app_of(app_).get_option(name)->excludes(app_of(app_).get_option(other));
}

CommandLine::CommandLine() : state_(std::make_unique<State>()) {
  state_->program.set_version_flag("--version", "dlaunch " DLAUNCH_VERSION);
  state_->program.require_subcommand(1);
  state_->program.footer(
      "Example:\n  dlaunch run -n 4 -- python train.py\n\ndlaunch COMMAND --help tells more.");
}

CommandLine::~CommandLine() = default;

CommandOptions CommandLine::command(const std::string& name, const std::string& description,
                                    const std::string& footer, Action action) {
  CLI::App* command = state_->program.add_subcommand(name, description);
  command->footer(footer);
  state_->commands.emplace_back(command, std::move(action));
  return CommandOptions(command);
}

int CommandLine::run(const std::vector<std::string>& arguments) {
  try {
    state_->program.parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 wants it so
  } catch (const CLI::Success& help) {
    return state_->program.exit(help);
  } catch (const CLI::ParseError& error) {
    return print_error(
        Error{exit_code::kUsage, std::string(error.what()) + "\n         try: dlaunch --help"});
  }
  for (const auto& [command, action] : state_->commands) {
    if (command->parsed()) return action();
  }
  return exit_code::kUsage;
}

}  // namespace dlaunch
