// What a command starts: launchers, which start ranks of their own, and what follows from that for
// the processes of a PyTorch job.
#include <algorithm>
#include <array>

#include "spec/dialects/azure_v2.h"
#include "spec/scalar.h"

namespace dlaunch::spec::azure {

namespace {

bool is_end_of_name(char c) {
  return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
}

/// "$NAME" or "${NAME}".
bool mentions_variable(std::string_view text, std::string_view name) {
  for (const std::string& form : {"$" + std::string(name), "${" + std::string(name)}) {
    for (auto at = text.find(form); at != std::string_view::npos; at = text.find(form, at + 1)) {
      const auto end = at + form.size();
      if (end == text.size() || is_end_of_name(text[end])) return true;
    }
  }
  return false;
}

/// A line feed is a word ";", but for one behind a backslash, which only continues the line.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto first = std::min(text.find_first_not_of(" \t\n"), text.size());
    if (text.substr(0, first).find('\n') != std::string_view::npos && !words.empty()) {
      if (words.back() == "\\") {
        words.pop_back();
      } else if (!words.back().ends_with('\\')) {
        words.emplace_back(";");
      }
    }
    if (first == text.size()) return words;
    text.remove_prefix(first);
    const auto end = std::min(text.find_first_of(" \t\n"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

bool is_name(std::string_view word) {
  return std::none_of(word.begin(), word.end(), is_end_of_name);
}

/// "NAME=value" in front of a command.
bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  const bool begins_with_digit = word.front() >= '0' && word.front() <= '9';
  return !begins_with_digit && is_name(word.substr(0, equals));
}

/// Of each word, whether it is the first of a simple command.
std::vector<bool> beginnings_of(const std::vector<std::string_view>& words) {
  std::vector<bool> begins;
  bool next = true;
  for (const std::string_view word : words) {
    begins.push_back(next);
    next = word == "&&" || word == "||" || word == "|" || word == "exec" || word.ends_with(';') ||
           (next && is_assignment(word));
  }
  return begins;
}

std::string_view base_name(std::string_view word) {
  const auto slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

/// The value of "--nproc_per_node 8" or "--nproc_per_node=8" among the launcher's own options,
/// which end where its script is named.
std::optional<std::int64_t> told_workers(const std::vector<std::string_view>& words,
                                         const std::vector<bool>& begins, std::size_t launcher) {
  constexpr std::array<std::string_view, 5> kOptions{
      "--nproc_per_node", "--nproc-per-node", "--num_processes", "--num-processes", "--num_gpus"};
  for (std::size_t i = launcher + 1; i < words.size() && !begins[i]; ++i) {
    if (words[i].ends_with(".py")) break;
    const auto equals = words[i].find('=');
    const std::string_view option = words[i].substr(0, equals);
    if (std::find(kOptions.begin(), kOptions.end(), option) == kOptions.end()) continue;
    if (equals != std::string_view::npos) return parse_integer(words[i].substr(equals + 1));
    if (i + 1 < words.size()) return parse_integer(words[i + 1]);
  }
  return std::nullopt;
}

struct Launcher {
  std::string name;
  std::optional<std::int64_t> workers;  // as its options say; nullopt: they do not
};

std::optional<Launcher> started_launcher(std::string_view command) {
  constexpr std::array<std::string_view, 4> kModules{"torch.distributed.launch",
                                                     "torch.distributed.run",
                                                     "accelerate.commands.launch", "torchx.run"};
  const std::vector<std::string_view> words = words_of(command);
  const std::vector<bool> begins = beginnings_of(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view program = base_name(words[i]);
    const bool is_accelerate =
        program == "accelerate" && i + 1 < words.size() && words[i + 1] == "launch";
    const bool is_program =
        begins[i] && (program == "torchrun" || program == "deepspeed" || is_accelerate);
    const bool is_module = i > 0 && words[i - 1] == "-m" &&
                           std::find(kModules.begin(), kModules.end(), words[i]) != kModules.end();
    if (!is_program && !is_module) continue;
    return Launcher{is_accelerate ? "accelerate launch" : std::string(program),
                    told_workers(words, begins, i)};
  }
  return std::nullopt;
}

/// A launcher that is told its rank is one of several on purpose.
bool mentions_own_rank(std::string_view command) {
  return mentions_variable(command, "RANK") || mentions_variable(command, "LOCAL_RANK");
}

/// Each of several launchers on a node starts workers for all of the node. With one worker each, or
/// with a number that a file of its own says, they may be meant.
void report_several(Translation& t, const Launcher& launcher, const ProcessCount& count) {
  const std::string times = std::to_string(count.per_node) + " times on each node";
  if (launcher.workers && *launcher.workers > 1) {
    t.diagnostics.error(count.place, "the command begins " + std::to_string(*launcher.workers) +
                                         " workers on each node by itself (" + launcher.name +
                                         "), and would be started " + times + "; leave out " +
                                         count.key + ", and it is started once on each");
    return;
  }
  t.note_at(count.place, launcher.name + " is started " + times +
                             "; if it starts workers for all "
                             "of the node, leave out " +
                             count.key + ", and it is started once on each");
}

}  // namespace

std::string_view started_program(std::string_view command,
                                 std::initializer_list<std::string_view> programs) {
  const std::vector<std::string_view> words = words_of(command);
  const std::vector<bool> begins = beginnings_of(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = std::find(programs.begin(), programs.end(), base_name(words[i]));
    if (begins[i] && found != programs.end()) return *found;
  }
  return {};
}

bool starts_own_workers(std::string_view command) {
  if (mentions_own_rank(command)) return false;
  return mentions_variable(command, "NODE_RANK") || started_launcher(command);
}

// "Leaving process_count_per_instance out is the per-node mode, used with torch.distributed.launch
// --node_rank $NODE_RANK, Lightning, Dask": where it is given, it counts.
bool is_per_node(Translation& t, const PlacedText& command, const ProcessCount& count) {
  if (mentions_own_rank(command.text)) return false;
  const auto launcher = started_launcher(command.text);
  if (count.per_node > 1) {
    if (launcher) report_several(t, *launcher, count);
    return false;
  }
  if (launcher) return true;
  if (count.is_given || !mentions_variable(command.text, "NODE_RANK")) return false;
  t.note_at(command.place,
            "a command with $NODE_RANK and without " + count.key +
                " is one that starts its own workers: it runs once on each node, without RANK and "
                "LOCAL_RANK; if it starts none, give " +
                count.key);
  return true;
}

}  // namespace dlaunch::spec::azure
