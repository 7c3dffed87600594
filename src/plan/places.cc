#include "plan/places.h"

#include <algorithm>
#include <array>

#include "plan/command.h"

namespace dlaunch {

namespace {

bool is_plain(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./+-=,:@%").find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The words of a line as a shell takes them, up to the first that is not plain.
std::vector<std::string> plain_words(std::string_view line) {
  std::vector<std::string> words;
  while (!(line = trimmed(line)).empty()) {
    const auto end = std::min(line.find_first_of(" \t"), line.size());
    if (!is_plain(line.substr(0, end))) break;
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

/// Sets variables or options and nothing else.
bool changes_no_files(std::string_view statement) {
  constexpr std::array<std::string_view, 8> kHarmless = {"export", "set",    "unset", "ulimit",
                                                         "umask",  "module", "ml",    "true"};
  const std::string_view first = statement.substr(0, statement.find_first_of(" \t"));
  return std::find(kHarmless.begin(), kHarmless.end(), first) != kHarmless.end() &&
         statement.find_first_of("`&|<>(){}\\") == std::string_view::npos;
}

std::optional<std::string> path_set_for(const LaunchPlan& plan, const RankPlan& rank) {
  for (const auto* layer :
       {&rank.variables, &plan.nodes[rank.node.value].variables, &plan.variables}) {
    for (const Variable& variable : *layer) {
      if (variable.name == "PATH" && variable.source != VariableSource::env_secret)
        return variable.value;
    }
  }
  return std::nullopt;
}

const Command& command_of(const JobSpec& spec, const RankPlan& rank) {
  for (const RoleSpec& role : spec.roles) {
    if (role.name == rank.role && role.command) return *role.command;
  }
  return spec.command;
}

template <class T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

void add_command(const JobSpec& spec, const Command& command,
                 const std::optional<std::string>& search_path, Places& places) {
  if (!command.is_shell) {
    if (auto script = python_script(command.argv)) add_once(places.files, *std::move(script));
    return;
  }
  if (!is_simple_command(trimmed(command.line))) return;
  const std::vector<std::string> words = plain_words(command.line);
  if (words.empty()) return;
  if (spec.shell == Shell::sh || words.front().find('/') != std::string::npos)
    add_once(places.programs, {words.front(), search_path});
  if (auto script = python_script(words)) add_once(places.files, *std::move(script));
}

bool is_python(std::string_view program) {
  program.remove_prefix(std::min(program.rfind('/') + 1, program.size()));
  if (!program.starts_with("python")) return false;
  program.remove_prefix(std::string_view("python").size());
  return program.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::optional<std::string> python_script(const std::vector<std::string>& argv) {
  // Options of python(1) without a value. Others may take the next word, or stand for a module.
  constexpr std::array<std::string_view, 12> kFlags = {"-u", "-B", "-E", "-I", "-O", "-OO",
                                                       "-P", "-q", "-s", "-S", "-b", "-v"};
  if (argv.empty() || !is_python(argv.front())) return std::nullopt;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (std::find(kFlags.begin(), kFlags.end(), argv[i]) != kFlags.end()) continue;
    if (argv[i].starts_with('-') || !argv[i].ends_with(".py")) return std::nullopt;
    return argv[i];
  }
  return std::nullopt;
}

std::vector<std::string> plainly_sourced(std::string_view setup) {
  std::vector<std::string> files;
  while (!setup.empty()) {
    const auto end = std::min(setup.find_first_of("\n;"), setup.size());
    const std::string_view statement = trimmed(setup.substr(0, end));
    setup.remove_prefix(std::min(end + 1, setup.size()));
    if (statement.empty() || statement.front() == '#') continue;
    if (changes_no_files(statement)) continue;
    const std::vector<std::string> words = plain_words(statement);
    const bool sources = words.size() == 2 && (words[0] == "source" || words[0] == ".");
    // All of the statement, not `source a || make a`.
    if (!sources || !statement.ends_with(words[1])) break;
    if (words[1].find('/') != std::string::npos) add_once(files, words[1]);
  }
  return files;
}

Places places_of(const JobSpec& spec, const LaunchPlan& plan, NodeIndex node) {
  Places places;
  const bool has_setup = spec.setup.find_first_not_of(" \t\r\n") != std::string::npos;
  for (const Rank r : plan.nodes[node.value].ranks) {
    const RankPlan& rank = plan.ranks[r.value];
    if (rank.container) continue;  // its files are those of the image
    const auto search_path = path_set_for(plan, rank);
    add_once(places.programs, {plan.commands[rank.command].argv.front(), search_path});
    if (!has_setup) add_command(spec, command_of(spec, rank), search_path, places);
  }
  const bool some_outside =
      std::any_of(plan.nodes[node.value].ranks.begin(), plan.nodes[node.value].ranks.end(),
                  [&](Rank r) { return !plan.ranks[r.value].container; });
  if (has_setup && some_outside) places.files = plainly_sourced(spec.setup);
  return places;
}

}  // namespace dlaunch
