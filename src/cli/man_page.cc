#include "cli/man_page.h"

#include <algorithm>
#include <string_view>

#include "text/strings.h"

namespace dlaunch {

namespace {

/// Escapes text so that man(7) shows it unchanged. Otherwise, man(7) would take a period or an
/// apostrophe at the beginning of a line for a request, and print a bare "-" as a hyphen, which
/// cannot be pasted into a shell.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string paragraph(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  return escaped(line) + '\n';
}

/// Lines that are kept as they are.
std::string lines(std::string_view text) {
  return ".nf\n" + escaped(text) + "\n.fi\n";
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string beginning(const std::string& name, const std::string& version,
                      std::string_view description) {
  return ".TH " + upper(name) + " 1 \"\" \"dlaunch " + version + "\" \"dlaunch\"\n.SH NAME\n" +
         escaped(name) + " \\- " + paragraph(description);
}

/// The usage lines without the word "Usage:" and the indentation below it.
std::string synopsis(std::string_view usage) {
  constexpr std::string_view kWord = "Usage: ";
  std::string text;
  while (!usage.empty()) {
    std::string_view line = take_line(usage);
    line.remove_prefix(std::min(kWord.size(), line.size()));
    if (!line.empty()) text += (text.empty() ? "" : "\n") + std::string(line);
  }
  return lines(text);
}

std::string section(std::string_view title) {
  return ".SH " + upper(title) + '\n';
}

std::string option_text(const OptionRow& option) {
  std::string text =
      ".TP\n" + joined(option.names, ", ", [](const auto& name) { return bold(name); });
  if (!option.type.empty()) text += " \\fI" + escaped(option.type) + "\\fR";
  return text + '\n' + paragraph(option.help);
}

}  // namespace

std::string program_page(const std::vector<CommandGroup>& groups, const std::string& version) {
  std::string page = beginning("dlaunch", version, "start distributed training jobs");
  page += section("synopsis") + bold("dlaunch") + " COMMAND [OPTIONS] ...\n";
  page +=
      section("description") +
      "Starts a distributed training job on one machine, over SSH or in Slurm, and looks after it "
      "until every process is gone.\n";
  for (const CommandGroup& group : groups) {
    page += section(group.title);
    for (const Subcommand& command : group.commands)
      page += ".TP\n" + bold("dlaunch-" + command.name) + "(1)\n" + paragraph(command.description);
  }
  return page + section("examples") + lines("dlaunch run -n 4 -- python train.py");
}

std::string command_page(const Subcommand& command, const std::string& version) {
  const CommandHelp help = help_of(command);
  std::string page = beginning("dlaunch-" + command.name, version, command.description);
  page += section("synopsis") + synopsis(help.usage);
  std::string group;
  for (const OptionRow& option : help.options) {
    const std::string title = option.is_argument() ? "Arguments" : option.group;
    if (title != group) page += section(title);
    group = title;
    page += option_text(option);
  }
  constexpr std::string_view kExamples = "Examples:\n";
  std::string_view footer = command.footer;
  const bool has_examples = footer.starts_with(kExamples);
  if (has_examples) footer.remove_prefix(kExamples.size());
  if (!footer.empty()) page += section(has_examples ? "examples" : "notes") + lines(footer);
  return page + section("see also") + bold("dlaunch") + "(1)\n";
}

}  // namespace dlaunch
