#include "jobfile/launch_lines/launch_script.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "jobfile/dialects/shell_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/scalar.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

/// Takes a line with those that a backslash joins to it.
std::string take_whole_line(std::string_view& text) {
  std::string line(take_line(text));
  while (line.ends_with('\\') && !text.empty()) {
    line.pop_back();
    line += take_line(text);
  }
  return line;
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || is_digit(word.front())) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

/// Commands that change the shell in which the program starts.
bool prepares_shell(std::string_view word, std::string_view line) {
  constexpr std::array<std::string_view, 9> kWords{
      "source", ".", "module", "ml", "conda", "mamba", "spack", "micromamba", "ulimit"};
  return contains(kWords, word) || (word == "eval" && line.find("conda") != std::string_view::npos);
}

/// A variable that stands for a substitution, whose value only the shell knows.
std::string stand_in(std::size_t number) {
  return "${DLAUNCH_INIT_" + std::to_string(number) + '}';
}

/// Behind the substitution at `at`, "$(" or "`"; npos: it has no end.
std::size_t end_of_substitution(std::string_view text, std::size_t at) {
  if (text[at] == '`') {
    const auto end = text.find('`', at + 1);
    return end == std::string_view::npos ? end : end + 1;
  }
  std::size_t depth = 0;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

std::string without_substitutions(std::string_view text, std::vector<std::string>& found) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = text[at] == '`' || text.substr(at, 2) == "$(";
    const auto end = begins ? end_of_substitution(text, at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at++];
      continue;
    }
    out += stand_in(found.size());
    found.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text)
      : whole_(without_substitutions(text, script_.substitutions)), text_(whole_) {}

  LaunchScript read() {
    for (std::string_view rest = text_; !rest.empty();) {
      std::string line = take_whole_line(rest);
      if (begins_array(line)) take_array(line, rest);
      if (const char quote = open_quote(line)) take_to_quote(quote, line, rest);
      read_line(line);
    }
    script_.batch.settle();
    set_slurm_variables();
    find_line();
    for (std::string& line : script_.setup) reveal(line);
    return std::move(script_);
  }

 private:
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  }

  /// The quote that an assignment opens and does not close: `ARGS="` with lines below it.
  static char open_quote(std::string_view line) {
    line = trimmed(line);
    const auto at = line.find_first_of("\"'");
    if (at == std::string_view::npos || at == 0 || line[at - 1] != '=') return '\0';
    const bool is_open = std::count(line.begin(), line.end(), line[at]) % 2 == 1;
    std::string_view name = line.substr(0, at);
    if (name.starts_with("export ")) name.remove_prefix(7);
    return is_open && is_assignment(name) ? line[at] : '\0';
  }

  static void take_to_quote(char quote, std::string& line, std::string_view& rest) {
    const std::string_view before = rest;
    std::string whole = line;
    while (!rest.empty()) {
      const std::string more = take_whole_line(rest);
      whole += '\n' + more;
      if (more.find(quote) == std::string::npos) continue;
      line = std::move(whole);
      return;
    }
    rest = before;  // it is not closed
  }

  /// "ARGS=(", whose words stand in this line and the next ones.
  static bool begins_array(std::string_view line) {
    line = trimmed(line);
    const auto open = line.find("=(");
    return open != std::string_view::npos && is_assignment(line.substr(0, open + 1));
  }

  void take_array(std::string& line, std::string_view& rest) {
    const auto open = line.find("=(");
    const std::string name(trimmed(std::string_view(line).substr(0, open)));
    std::string content = line.substr(open + 2);
    while (content.find(')') == std::string::npos && !rest.empty())
      content += '\n' + take_whole_line(rest);
    Words words;
    for (const Words& command : simple_commands(content.substr(0, content.find(')'))))
      words.insert(words.end(), command.begin(), command.end());
    arrays_.insert_or_assign(name, std::move(words));
    line.clear();
  }

  /// The shell splits an unquoted variable into words: `torchrun $ARGS`, `torchrun ${ARGS[@]}`.
  [[nodiscard]] Words split_variables(const Words& words) const {
    Words split;
    for (const std::string& word : words) {
      const auto add = [&](const auto& more) {
        split.insert(split.end(), more.begin(), more.end());
      };
      std::string_view name = word;
      const bool is_variable = name.starts_with('$');
      if (is_variable) name.remove_prefix(name.starts_with("${") ? 2 : 1);
      if (name.ends_with('}')) name.remove_suffix(1);
      const bool is_array = name.ends_with("[@]") || name.ends_with("[*]");
      if (is_array) name.remove_suffix(3);
      const auto array = arrays_.find(name);
      const auto text = texts_.find(name);
      if (is_variable && is_array && array != arrays_.end()) {
        add(array->second);
      } else if (is_variable && !is_array && text != texts_.end()) {
        add(split_words(text->second));
      } else {
        split.push_back(word);
      }
    }
    return split;
  }

  /// Scripts look at their nodes before they start the job: "srun hostname".
  static bool only_looks(const LaunchLine& line) {
    constexpr std::array<std::string_view, 16> kPrograms{
        "hostname", "nvidia-smi", "echo", "mkdir", "cp",   "rsync", "tar",  "pip",
        "ls",       "df",         "env",  "rm",    "date", "sleep", "free", "printenv"};
    return line.program.empty() || contains(kPrograms, file_name(line.program.front()));
  }

  void find_line() {
    const VariableValue value_of = [this](std::string_view name) { return value(name); };
    const auto commands = started_commands(text_);
    for (const Words& started : commands) {
      auto line = read_launch_line(split_variables(started), value_of);
      if (line && !only_looks(*line)) return set_line(std::move(*line), started);
    }
    for (const Words& started : commands) {
      Words words = split_variables(started);
      if (!runs_program(words)) continue;
      for (std::string& word : words) word = with_values(word, value_of);
      return set_line({"", {}, std::move(words)}, started);
    }
  }

  /// "python train.py", where no launcher stands before it.
  static bool runs_program(const Words& words) {
    return words.size() > 1 && file_name(words.front()).starts_with("python") &&
           words[1].ends_with(".py") && file_name(words[1]) != "setup.py";
  }

  void set_line(LaunchLine line, const Words& started) {
    script_.line = std::move(line);
    find_line_number(started);
    for (LeftOut& one : script_.line->options.left_out) reveal(one.typed);
  }

  void reveal(std::string& text) const { text = with_substitutions(std::move(text), script_); }

  void read_line(const std::string& whole) {
    const std::string_view line = trimmed(whole);
    constexpr std::string_view kDirective = "#SBATCH";
    if (line.starts_with(kDirective)) return read_directive(line.substr(kDirective.size()));
    if (line.empty() || line.front() == '#') return;
    const auto commands = simple_commands(line);
    if (commands.empty() || commands.front().empty()) return;
    const Words& words = commands.front();
    if (prepares_shell(words.front(), line)) {
      script_.setup.emplace_back(line);
    } else if (words.front() == "cd" && words.size() == 2) {
      const std::string folder =
          with_values(words[1], [this](std::string_view name) { return value(name); });
      if (!has_variable(folder)) script_.workdir = folder;
    } else {
      read_assignments(words);
    }
  }

  /// "export A=1", "A=1", and "A=1 torchrun ...".
  void read_assignments(const Words& words) {
    const bool is_export = words.front() == "export";
    std::size_t at = is_export ? 1 : 0;
    const auto end = std::find_if_not(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(),
                                      is_assignment);
    const bool starts_ranks = end != words.end() && read_launch_line({end, words.end()}, [](auto) {
                                                      return std::nullopt;
                                                    }).has_value();
    for (; at < words.size() && is_assignment(words[at]); ++at) {
      const auto equals = words[at].find('=');
      const std::string name = words[at].substr(0, equals);
      const std::string known = with_values(words[at].substr(equals + 1),
                                            [this](std::string_view one) { return value(one); });
      const bool is_known = !has_variable(known);
      texts_.insert_or_assign(name, known);
      if (is_known) variables_.insert_or_assign(name, known);
      if (!is_export && !starts_ranks) continue;
      if (is_known) {
        script_.env.push_back({name, known});
      } else {
        script_.env_unknown.push_back(name);
      }
    }
    for (; is_export && at < words.size(); ++at)  // "export A B"
      if (const auto known = value(words[at])) script_.env.push_back({words[at], *known});
  }

  void read_directive(std::string_view line) {
    script_.is_batch = true;
    Words words;
    for (const std::string_view word : split_words(line)) {
      if (word.starts_with('#')) break;
      words.emplace_back(word);
    }
    for (std::size_t at = 0; at < words.size();) {
      std::string typed = words[at++];
      if (!typed.starts_with('-')) continue;
      const std::string name = option_name(typed);
      const auto equals = typed.find('=');
      std::string value = equals == std::string::npos ? "" : typed.substr(equals + 1);
      if (equals == std::string::npos && at < words.size() && !words[at].starts_with('-')) {
        value = words[at++];
        typed += ' ' + value;
      }
      add_directive(name, value, typed);
    }
  }

  void add_directive(const std::string& name, const std::string& value, const std::string& typed) {
    constexpr std::array<std::string_view, 4> kOutput{"output", "o", "error", "e"};
    if (contains(kOutput, name)) return;  // dlaunch keeps the output of every rank
    if (name == "gpus-per-node" || name == "gres" || name == "gpus" || name == "G")
      gpus_ = value.substr(value.rfind(':') + 1);
    if (name == "cpus-per-task" || name == "c") cpus_ = value;
    const LauncherOption* option = find_launcher_option(name, launcher::kSrun);
    const bool is_place = option != nullptr && option->becomes == Becomes::advice;
    if (option == nullptr) {
      script_.batch.left_out.push_back({typed, "for sbatch: dlaunch submit --sbatch=--" + name +
                                                   (value.empty() ? "" : '=' + value)});
    } else if (!is_place || name.starts_with("container")) {
      script_.batch.add(*option, typed, option->values == 0 ? Words{} : Words{value});
    }
  }

  void set_slurm_variables() {
    const OwnOptions& batch = script_.batch;
    const auto set = [this](const char* name, const std::string& text) {
      if (!text.empty()) variables_.try_emplace(name, text);
    };
    if (!script_.is_batch) return;
    const std::string nodes = batch.nodes.empty() ? "1" : batch.nodes;
    set("SLURM_NNODES", nodes);
    set("SLURM_JOB_NUM_NODES", nodes);
    set("SLURM_NTASKS_PER_NODE", batch.per_node);
    set("SLURM_GPUS_ON_NODE", gpus_);
    set("SLURM_GPUS_PER_NODE", gpus_);
    set("SLURM_CPUS_PER_TASK", cpus_);
    const auto each = parse_integer(batch.per_node);
    const auto all = parse_integer(nodes);
    set("SLURM_NTASKS", each && all ? std::to_string(*each * *all) : batch.total);
  }

  /// The first line with the word, or words, that the command begins with.
  void find_line_number(const Words& started) {
    std::size_t number = 0;
    for (std::string_view rest = text_; !rest.empty();) {
      ++number;
      const std::string_view line = trimmed(take_line(rest));
      const bool has_program = !script_.line->launcher.empty() ||  // "python" stands in many
                               line.find(started[1]) != std::string_view::npos;
      const bool has_words = has_program && line.find(started.front()) != std::string_view::npos;
      if (line.starts_with('#') || !has_words) continue;
      script_.line_number = number;
      return;
    }
  }

  LaunchScript script_;
  std::string whole_;
  std::string_view text_;
  std::map<std::string, std::string, std::less<>> variables_;  // whose values are known
  std::map<std::string, std::string, std::less<>> texts_;      // with variables that are not
  std::map<std::string, Words, std::less<>> arrays_;
  std::string gpus_;
  std::string cpus_;
};

}  // namespace

std::string with_substitutions(std::string text, const LaunchScript& script) {
  for (std::size_t i = 0; i < script.substitutions.size(); ++i) {
    const std::string name = stand_in(i);
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), script.substitutions[i]);
      at += script.substitutions[i].size();
    }
  }
  return text;
}

LaunchScript read_launch_script(std::string_view text) {
  return ScriptReader(text).read();
}

}  // namespace dlaunch::jobfile
