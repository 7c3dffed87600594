#include "plan/prerequisites.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "plan/command.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

bool is_plain(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return is_letter_or_digit(c) ||
           std::string_view("_./+-=,:@%").find(c) != std::string_view::npos;
  });
}

/// The words of a line, up to the first that the shell would not leave unchanged.
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

/// True if the statement only sets variables or options.
bool changes_no_files(std::string_view statement) {
  constexpr std::array<std::string_view, 8> kHarmless = {"export", "set",    "unset", "ulimit",
                                                         "umask",  "module", "ml",    "true"};
  const std::string_view first = statement.substr(0, statement.find_first_of(" \t"));
  return contains(kHarmless, first) &&
         statement.find_first_of("`&|<>(){}\\") == std::string_view::npos;
}

template <class T>
void add_once(std::vector<T>& list, T item) {
  if (!contains(list, item)) list.push_back(std::move(item));
}

Environment own_settings(const LaunchPlan& plan, const RankPlan& rank) {
  Environment env;
  for (const auto* layer :
       {&plan.variables, &plan.nodes[rank.node.value].variables, &rank.variables}) {
    for (const Variable& variable : *layer) {
      if (variable.source == VariableSource::env_pass ||
          variable.source == VariableSource::job_env || variable.source == VariableSource::role_env)
        env.insert_or_assign(variable.name, variable.value);
    }
  }
  return env;
}

/// `words`: the program and its plain arguments.
void add_words(const LaunchPlan& plan, const RankPlan& rank, const std::vector<std::string>& words,
               const std::optional<std::string>& search_path, Prerequisites& needed) {
  if (auto python = python_command(words)) {
    add_once(needed.pythons,
             {words.front(), search_path, *std::move(python), own_settings(plan, rank)});
  } else if (auto script = shell_script(words)) {
    add_once(needed.files, *std::move(script));
  }
}

void add_command(const JobSpec& spec, const LaunchPlan& plan, const RankPlan& rank,
                 const std::optional<std::string>& search_path, Prerequisites& needed) {
  const Command& command = command_of(spec, rank);
  if (!command.is_shell) return add_words(plan, rank, command.argv, search_path, needed);
  if (!is_simple_command(trimmed(command.line))) return;
  const std::vector<std::string> words = plain_words(command.line);
  if (words.empty()) return;
  if (spec.shell == Shell::sh || words.front().find('/') != std::string::npos)
    add_once(needed.programs, {words.front(), search_path});
  add_words(plan, rank, words, search_path, needed);
}

}  // namespace

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

std::vector<Rank> ranks_of_each_kind(const LaunchPlan& plan, NodeRank node) {
  std::vector<Rank> ranks;
  std::set<std::pair<std::string_view, std::uint32_t>> seen;  // role, command
  for (const Rank rank : plan.nodes[node.value].ranks) {
    const RankPlan& one = plan.ranks[rank.value];
    if (!one.container && seen.emplace(one.role, one.command).second) ranks.push_back(rank);
  }
  return ranks;
}

const Command& command_of(const JobSpec& spec, const RankPlan& rank) {
  for (const RoleSpec& role : spec.roles) {
    if (role.name == rank.role && role.command) return *role.command;
  }
  return spec.command;
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
    // The whole statement must match, not `source a || make a`.
    if (!sources || !statement.ends_with(words[1])) break;
    if (words[1].find('/') != std::string::npos) add_once(files, words[1]);
  }
  return files;
}

Prerequisites prerequisites_of(const JobSpec& spec, const LaunchPlan& plan, NodeRank node) {
  Prerequisites needed;
  const bool has_setup = spec.setup.find_first_not_of(" \t\r\n") != std::string::npos;
  for (const Rank r : ranks_of_each_kind(plan, node)) {
    const RankPlan& rank = plan.ranks[r.value];
    const auto search_path = path_set_for(plan, rank);
    add_once(needed.programs, {plan.commands[rank.command].argv.front(), search_path});
    if (!has_setup) add_command(spec, plan, rank, search_path, needed);
  }
  if (has_setup && !needed.programs.empty()) needed.files = plainly_sourced(spec.setup);
  return needed;
}

}  // namespace dlaunch
