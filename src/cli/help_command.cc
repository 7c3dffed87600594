#include <memory>

#include "cli/commands.h"
#include "cli/print.h"
#include "jobfile/suggestion.h"
#include "report/exit_codes.h"
#include "report/explain.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  dlaunch help run                        a command, as dlaunch run --help\n"
    "  dlaunch help restart.backoff            a key of the job file; restart: its keys\n"
    "  dlaunch help 74                         an exit code\n"
    "  dlaunch help --bind-to                  an option of another launcher\n"
    "  dlaunch help 'CUDA out of memory'       a message, or a part of one";

using Groups = std::vector<CommandGroup>;

Error unknown_topic(const Groups& groups, const std::string& topic) {
  std::vector<std::string_view> names;
  for (const CommandGroup& group : groups)
    for (const Subcommand& command : group.commands) names.push_back(command.name);
  const auto topics = topic_names();
  names.insert(names.end(), topics.begin(), topics.end());
  std::string message = "no help on \"" + plain_line(topic) + '"';
  message += jobfile::did_you_mean(topic, names);
  return {exit_code::kUsage,
          message +
              "\n         try: dlaunch --help, dlaunch help KEY of a job file, an exit code, or "
              "a message in quotes"};
}

/// Help on an option of `dlaunch run`; empty: `run` has no option of that name.
std::string own_option(const Groups& groups, const std::string& topic) {
  const Subcommand& run = groups.front().commands.front();
  const std::string name = topic.substr(0, topic.find('='));
  for (const OptionRow& row : help_of(run).options) {
    if (!contains(row.names, name)) continue;
    std::string text = joined(row.names) + (row.type.empty() ? "" : ' ' + row.type) + '\n';
    for (std::string_view rest = row.help; !rest.empty();)
      text += "  " + std::string(take_line(rest)) + '\n';
    return text;
  }
  return "";
}

/// The number in "74", "exit code 74", "code 74"; empty: none.
std::string exit_code_in(std::string_view topic) {
  for (const std::string_view word : {"exit ", "code ", "status "})
    if (topic.starts_with(word)) topic.remove_prefix(word.size());
  const bool is_number =
      !topic.empty() && topic.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? std::string(topic) : "";
}

/// Empty: nothing is known about the topic.
std::string help_on(const Groups& groups, const std::string& topic) {
  constexpr std::size_t kDigits = 3;
  const std::string code = exit_code_in(topic);
  if (!code.empty()) return code.size() > kDigits ? "" : exit_code_help(std::stoi(code));
  if (topic.starts_with('-')) {
    const std::string own = own_option(groups, topic);
    const std::string others = option_help(topic);
    return own + (own.empty() || others.empty() ? "" : "\nOf other launchers:\n") + others;
  }
  std::string text = key_help(topic);
  return text.empty() ? message_help(topic) : text;
}

int print_help(const Groups& groups, const std::vector<std::string>& words) {
  if (words.size() < 2) return run_command_line(groups, {"--help"}, {});
  const std::string topic = joined(std::vector(words.begin() + 1, words.end()), " ");
  const std::string text = help_on(groups, topic);
  if (find_command(groups, topic) != nullptr) {
    const int code = run_command_line(groups, {topic, "--help"}, {});
    const bool is_key =
        text.starts_with(topic + '\n') || text.starts_with("keys of " + topic + '\n');
    return is_key && code == exit_code::kOk ? print_text("\nIn a job file:\n" + text) : code;
  }
  if (text.empty()) return print_error(unknown_topic(groups, topic));
  return print_text(text.substr(0, text.find_last_not_of('\n') + 1));
}

}  // namespace

Subcommand help_command(const Groups& groups, const std::vector<std::string>& words) {
  auto topic = std::make_shared<std::string>();
  const auto describe = [topic](CommandOptions options) {
    options.positional("TOPIC", *topic,
                       "A command, a key of the job file, an exit code,\nan option of another "
                       "launcher, or a message");
  };
  return {"help",   "Explain a command, a key, an exit code or a message",  kFooter,
          describe, [&groups, words] { return print_help(groups, words); }, false,
          true};
}

}  // namespace dlaunch
