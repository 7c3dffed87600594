#include "jobfile/dialects/started_programs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

/// Limit for `sh -c` inside `sh -c`; deeper nesting is unusual.
constexpr int kMostShells = 4;

/// The elements of `words` from `first` on.
Words from(const Words& words, std::size_t first) {
  return {words.begin() + static_cast<std::ptrdiff_t>(first), words.end()};
}

bool is_of_name(char c) {
  return is_letter_or_digit(c) || c == '_';
}

/// XCU 2.4: a command may follow these.
bool is_reserved(std::string_view word) {
  constexpr std::array<std::string_view, 10> kWords{"if", "then",  "elif",  "else", "do",
                                                    "{",  "while", "until", "!",    "coproc"};
  return contains(kWords, word);
}

/// A program that runs the program in its arguments. That program follows the options and
/// `arguments` more words. Options with a letter in `with_value` take the next word.
struct Starter {
  std::string_view name;
  std::string_view with_value;
  int arguments;
};
constexpr Starter kStarters[] = {
    {"sudo", "CDghpRrTtUu", 0}, {"doas", "Cu", 0},   {"env", "CSu", 0},        {"nohup", "", 0},
    {"exec", "a", 0},           {"command", "", 0},  {"builtin", "", 0},       {"time", "fo", 0},
    {"nice", "n", 0},           {"ionice", "cn", 0}, {"timeout", "ks", 1},     {"setsid", "", 0},
    {"stdbuf", "eio", 0},       {"taskset", "", 1},  {"numactl", "CiMmNpP", 0}};

/// True for "command -v mpirun", which only looks up the program.
bool only_asks(std::string_view name, std::string_view option) {
  return name == "command" && (option == "-v" || option == "-V");
}

/// The index of the word after a starter, its options and arguments; nullopt: it starts nothing.
std::optional<std::size_t> behind(const Starter& starter, const Words& words, std::size_t at) {
  for (++at; at < words.size() && words[at].size() > 1 && words[at].front() == '-'; ++at) {
    const std::string_view option = words[at];
    if (only_asks(starter.name, option)) return std::nullopt;
    if (option == "--") {
      ++at;
      break;
    }
    const bool takes_next =
        option.size() == 2 && starter.with_value.find(option[1]) != std::string_view::npos;
    if (takes_next) ++at;
  }
  while (at < words.size() && is_assignment(words[at])) ++at;  // env(1), sudo(8)
  return at + static_cast<std::size_t>(starter.arguments);
}

/// The number of words before the program of a simple command; all words if it has no program.
std::size_t starters_in(const Words& words) {
  std::size_t at = 0;
  while (at < words.size()) {
    const std::string_view word = words[at];
    const auto starter =
        std::find_if(std::begin(kStarters), std::end(kStarters),
                     [&](const Starter& known) { return known.name == file_name(word); });
    if (starter != std::end(kStarters)) {
      const auto next = behind(*starter, words, at);
      if (!next) return words.size();
      at = *next;
    } else if (is_reserved(word) || is_assignment(word)) {
      ++at;
    } else {
      break;
    }
  }
  return std::min(at, words.size());
}

/// The text that a shell gets with -c (or -lc, -ec), or the arguments of `eval`; nullopt: none.
std::optional<std::string> shell_text(const Words& words) {
  constexpr std::array<std::string_view, 5> kShells{"sh", "bash", "dash", "zsh", "ksh"};
  const std::string_view program = file_name(words.front());
  if (program == "eval") {
    std::string text;
    for (std::size_t i = 1; i < words.size(); ++i) text += words[i] + ' ';
    return text;
  }
  if (!contains(kShells, program)) return std::nullopt;
  for (std::size_t i = 1; i + 1 < words.size() && words[i].starts_with('-'); ++i) {
    const bool has_text = !words[i].starts_with("--") && words[i].ends_with('c');
    if (has_text) return words[i + 1];
    if (words[i] == "-o" || words[i] == "-O") ++i;  // "-o pipefail"
  }
  return std::nullopt;
}

void collect(std::string_view command, int depth, std::vector<ShellCommand>& started) {
  for (ShellCommand& simple : shell_commands(command)) {
    const std::size_t starters = starters_in(texts_of(simple));
    simple.erase(simple.begin(), simple.begin() + static_cast<std::ptrdiff_t>(starters));
    if (simple.empty()) continue;
    const auto inside = depth < kMostShells ? shell_text(texts_of(simple)) : std::nullopt;
    if (inside) {
      collect(*inside, depth + 1, started);
    } else {
      started.push_back(std::move(simple));
    }
  }
}

}  // namespace

std::vector<ShellCommand> started_shell_commands(std::string_view command) {
  std::vector<ShellCommand> started;
  collect(command, 0, started);
  return started;
}

std::vector<std::vector<std::string>> started_commands(std::string_view command) {
  std::vector<Words> started;
  for (const ShellCommand& one : started_shell_commands(command)) started.push_back(texts_of(one));
  return started;
}

std::optional<WorkerLauncher> worker_launcher(const Words& words) {
  constexpr std::array<std::string_view, 3> kPrograms{"torchrun", "deepspeed", "accelerate-launch"};
  constexpr std::array<std::string_view, 4> kModules{"torch.distributed.launch",
                                                     "torch.distributed.run",
                                                     "accelerate.commands.launch", "torchx.run"};
  const std::string_view program = file_name(words.front());
  if (contains(kPrograms, program)) return WorkerLauncher{std::string(program), from(words, 1)};
  if (program == "accelerate" && words.size() > 1 && words[1] == "launch")
    return WorkerLauncher{"accelerate launch", from(words, 2)};
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& module = words[i + 1];
    const bool is_known = contains(kModules, module);
    if (words[i] == "-m" && is_known) return WorkerLauncher{module, from(words, i + 2)};
  }
  return std::nullopt;
}

std::string_view started_program(std::string_view command,
                                 std::initializer_list<std::string_view> programs) {
  for (const Words& words : started_commands(command)) {
    const auto found = std::find(programs.begin(), programs.end(), file_name(words.front()));
    if (found != programs.end()) return *found;
  }
  return {};
}

std::optional<WorkerLauncher> started_launcher(std::string_view command) {
  for (const Words& words : started_commands(command))
    if (auto launcher = worker_launcher(words)) return launcher;
  return std::nullopt;
}

bool mentions_variable(std::string_view text, std::string_view name) {
  for (const std::string& form : {"$" + std::string(name), "${" + std::string(name)}) {
    for (auto at = text.find(form); at != std::string_view::npos; at = text.find(form, at + 1)) {
      const auto end = at + form.size();
      if (end == text.size() || !is_of_name(text[end])) return true;
    }
  }
  return false;
}

}  // namespace dlaunch::jobfile
