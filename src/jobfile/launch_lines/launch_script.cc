#include "jobfile/launch_lines/launch_script.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "jobfile/dialects/shell_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/launch_lines/batch_options.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

constexpr const char* kConditional = "it is only for some cases";

class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text)
      : whole_(without_substitutions(text, script_.substitutions)),
        text_(whole_),
        value_of_([this](std::string_view name) { return value(name); }) {}

  LaunchScript read() {
    for (const BatchOption& option : batch_options(text_)) add_directive(option);
    script_.batch.settle();
    set_slurm_variables();
    for (std::string_view rest = text_; !rest.empty();) {
      std::string line = take_whole_line(rest);
      if (begins_array(line)) take_array(line, rest);
      take_open_quote(line, rest);
      skip_here_document(line, rest);
      read_line(line);
    }
    find_line();
    for (std::string& line : script_.setup) reveal(line);
    for (ShellStep& step : script_.steps) reveal(step.text);
    for (std::string& command : script_.ignored) reveal(command);
    return std::move(script_);
  }

 private:
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  }

  void take_array(std::string& line, std::string_view& rest) {
    const auto open = line.find("=(");
    std::string name(without_declaration(std::string_view(line).substr(0, open)));
    const bool adds = name.ends_with('+');
    if (adds) name.pop_back();
    std::string content = line.substr(open + 2);
    auto end = end_of_group(content, 0);
    while (end == std::string::npos && !rest.empty()) {
      content += '\n' + take_whole_line(rest);
      end = end_of_group(content, 0);
    }
    const std::string whole = std::exchange(line, "");
    if (depth_ > 0) note_condition(name, whole);
    if (depth_ > 0 && arrays_.contains(name)) return;
    ShellCommand words;
    script_.steps.push_back(
        {std::string(without_declaration(whole.substr(0, open + 2))) + content.substr(0, end) + ')',
         name});
    for (const ShellCommand& command : shell_commands(content.substr(0, end)))
      words.insert(words.end(), command.begin(), command.end());
    ShellCommand& array = arrays_[name];
    if (!adds) array.clear();
    array.insert(array.end(), words.begin(), words.end());
  }

  /// The shell splits an unquoted variable into words, `torchrun $ARGS`, and an array in any case:
  /// `torchrun "${ARGS[@]}"`.
  /// Not in "${NAMES%% *}".
  static bool can_be_split(std::string_view text) {
    const auto parts = split_words(text);
    return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
      return std::count(part.begin(), part.end(), '{') == std::count(part.begin(), part.end(), '}');
    });
  }

  [[nodiscard]] ShellCommand split_variables(const ShellCommand& words) const {
    ShellCommand split;
    for (const ShellWord& word : words) {
      const bool is_shell_text = split.size() > 1 && split.back().text.ends_with("c") &&
                                 split.back().text.starts_with('-') &&
                                 file_name(split[split.size() - 2].text).ends_with("sh");
      if (is_shell_text && word.spelled.find_first_of("'\"") == 0) {
        const std::string text = with_values(word.text, [this](std::string_view variable) {
          const auto known = texts_.find(variable);
          return known == texts_.end() ? std::nullopt : std::optional(known->second.text);
        });
        split.push_back({text, shell_quote(text)});
        continue;
      }
      std::string_view name = word.spelled;
      const bool is_quoted = name.size() > 1 && name.starts_with('"') && name.ends_with('"');
      if (is_quoted) name = name.substr(1, name.size() - 2);
      const bool is_variable = name.starts_with('$');
      if (is_variable) name.remove_prefix(name.starts_with("${") ? 2 : 1);
      if (name.ends_with('}')) name.remove_suffix(1);
      const bool is_array = name.ends_with("[@]") || (!is_quoted && name.ends_with("[*]"));
      if (is_array) name.remove_suffix(3);
      const auto array = arrays_.find(name);
      const auto text = texts_.find(name);
      if (is_variable && is_array && array != arrays_.end()) {
        split.insert(split.end(), array->second.begin(), array->second.end());
      } else if (is_variable && !is_array && !is_quoted && text != texts_.end() &&
                 can_be_split(text->second.text)) {
        for (const std::string_view part : split_words(text->second.text)) {
          const std::string whole(part);
          split.push_back({whole, text->second.is_known ? unquoted_value(part) : whole});
        }
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
    return line.program.empty() || contains(kPrograms, file_name(line.program.front().text));
  }

  void find_line() {
    const auto commands = started_shell_commands(text_);
    for (const ShellCommand& started : commands) {
      auto line = read_launch_line(split_variables(started), value_of_);
      if (!line || only_looks(*line)) continue;
      if (script_.line) {
        script_.others.push_back(line->launcher);
      } else {
        set_line(std::move(*line), started);
      }
    }
    for (const ShellCommand& started : commands) {
      const ShellCommand words = split_variables(started);
      if (script_.line || !runs_program(words)) continue;
      LaunchLine line;
      for (const ShellWord& word : words) line.program.push_back(expanded(word.spelled, value_of_));
      set_line(std::move(line), started);
    }
  }

  /// "python train.py", where no launcher stands before it.
  static bool runs_program(const ShellCommand& words) {
    return words.size() > 1 && file_name(words.front().text).starts_with("python") &&
           words[1].text.ends_with(".py") && file_name(words[1].text) != "setup.py";
  }

  void set_line(LaunchLine line, const ShellCommand& started) {
    script_.line = std::move(line);
    find_line_number(texts_of(started));
    for (LeftOut& one : script_.line->options.left_out) reveal(one.typed);
    const std::string spelled = line_of(started);
    const auto prefix = std::find_if(prefixes_.begin(), prefixes_.end(),
                                     [&](const auto& one) { return one.first == spelled; });
    if (prefix != prefixes_.end())
      for (const ShellWord& word : prefix->second) assign(word, true);
    for (const auto& [name, assignment] : conditions_)
      if (mentions_variable(spelled, name))
        script_.left_out.push_back({revealed(assignment), kConditional});
    for (const std::string& name : secrets_)
      if (mentions_variable(spelled, name) && !contains(script_.env, OwnSetting{name, ""}))
        script_.env.push_back({name, ""});
  }

  static std::string line_of(const ShellCommand& command) {
    return joined(command, " ", &ShellWord::spelled);
  }

  [[nodiscard]] std::string revealed(std::string text) const {
    return with_substitutions(std::move(text), script_.substitutions);
  }

  void reveal(std::string& text) const { text = revealed(std::move(text)); }

  void note_condition(const std::string& name, std::string_view assignment) {
    conditions_.emplace_back(name, trimmed(assignment));
  }

  void read_line(const std::string& whole) {
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.front() == '#') return;
    // "source x || exit 1", "[ -n A ] && B=1": what follows is for some cases only.
    const bool has_cases = line.find('|') != std::string_view::npos;
    bool tests = false;
    bool prepared = false;
    std::size_t number = 0;
    for (ShellCommand& command : shell_commands(line)) {
      count_depth(command);
      if (command.empty() || (has_cases && number++ > 0)) continue;
      depth_ += tests ? 1 : 0;
      prepared = read_next(command, prepared);
      depth_ -= tests ? 1 : 0;
      tests = tests || begins_test(command.front().text);
    }
  }

  static bool begins_test(std::string_view word) {
    constexpr std::array<std::string_view, 3> kTests{"[", "[[", "test"};
    return contains(kTests, word);
  }

  /// Whether the command prepares the shell; `prepared`: the one before it in the line does.
  bool read_next(const ShellCommand& command, bool prepared) {
    const bool prepares = prepares_shell(command.front().text, revealed(line_of(command)));
    if (prepares) {
      add_setup(command);
    } else if (prepared) {
      leave_out(command);
    } else {
      read_command(command);
    }
    return prepares;
  }

  /// What stands in an `if` or a loop counts only where nothing else is known. Takes the words off
  /// that lead to a command.
  void count_depth(ShellCommand& command) {
    constexpr std::array<std::string_view, 6> kBegin{"if",    "for",  "while",
                                                     "until", "case", "select"};
    constexpr std::array<std::string_view, 3> kEnd{"fi", "done", "esac"};
    constexpr std::array<std::string_view, 4> kBefore{"then", "do", "else", "{"};
    while (!command.empty() && contains(kBefore, command.front().text))
      command.erase(command.begin());
    if (command.empty()) return;
    const std::string& word = command.front().text;
    if (contains(kBegin, word)) ++depth_;
    if (contains(kEnd, word) && depth_ > 0) --depth_;
    if (word == "for" || word == "while" || word == "until") loop_ = line_of(command);
    if (word == "done") loop_.clear();
  }

  void add_setup(const ShellCommand& command) {
    const std::string line = line_of(command);
    const bool is_unknown = std::any_of(unknown_.begin(), unknown_.end(), [&](const auto& name) {
      return mentions_variable(line, name);
    });
    if (depth_ > 0) return script_.left_out.push_back({revealed(line), kConditional});
    const std::string known = joined(command, " ", [this](const ShellWord& word) {
      return expanded(word.spelled, value_of_).spelled;
    });
    script_.steps.push_back({known, ""});
    if (is_unknown) {
      script_.setup_unknown.push_back(
          {revealed(line), "for setup; only the script knows its variables"});
    } else {
      script_.setup.push_back(known);
    }
  }

  /// What stands behind a command of setup and is none itself.
  void leave_out(const ShellCommand& command) {
    if (command.front().text == "cd" || is_assignment(command.front().text) ||
        command.front().text == "export")
      return read_command(command);
    constexpr std::array<std::string_view, 7> kOthers{"fi",     "done", "esac", "exit",
                                                      "return", "true", ":"};
    if (contains(kOthers, command.front().text)) return;
    for (const ShellCommand& started : started_shell_commands(line_of(command)))
      if (read_launch_line(started, value_of_) || runs_program(started)) return;
    script_.left_out.push_back({revealed(line_of(command)), "for setup, if ranks need it"});
  }

  void read_command(const ShellCommand& command) {
    if (command.front().text != "cd" || command.size() != 2) return read_assignments(command);
    const ExpandedWord folder = expanded(command[1].spelled, value_of_);
    if (folder.is_known && folder.text != ".") script_.workdir = folder.text;
    if (!folder.is_known) script_.steps.push_back({"cd " + folder.spelled, ""});
  }

  /// "export A=1", "A=1", and "A=1 torchrun ...".
  void read_assignments(const ShellCommand& words) {
    const bool is_export = words.front().text == "export";
    const bool is_declaration = is_export || declares(words.front().text);
    if (!is_declaration && !is_assignment(words.front().text)) see_command(words);
    std::size_t at = is_declaration ? 1 : 0;
    while (is_declaration && at < words.size() && words[at].text.starts_with('-')) ++at;
    const auto end =
        std::find_if_not(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(),
                         [](const ShellWord& word) { return is_assignment(word.text); });
    if (end != words.end() && !is_declaration) {
      for (const ShellCommand& started : started_shell_commands(line_of({end, words.end()})))
        prefixes_.emplace_back(line_of(started), ShellCommand(words.begin(), end));
      return;
    }
    for (; at < words.size() && is_assignment(words[at].text); ++at) assign(words[at], is_export);
    for (; is_export && at < words.size(); ++at) {  // "export A B"
      const std::string& name = words[at].text;
      if (const auto known = value(name)) script_.env.push_back({name, *known});
      if (contains(secrets_, name)) script_.env.push_back({name, ""});
    }
  }

  void see_command(const ShellCommand& words) {
    for (const ShellCommand& started : started_shell_commands(line_of(words)))
      if (read_launch_line(split_variables(started), value_of_)) {
        if (script_.loop.empty()) script_.loop = loop_;
        if (depth_ > 0 && loop_.empty())
          script_.left_out.push_back({revealed(line_of(started)), kConditional});
      }
    script_.ignored.push_back(line_of(words));
  }

  void assign(const ShellWord& word, bool is_exported) {
    std::string name = word.text.substr(0, word.text.find('='));
    const bool adds = name.ends_with('+');
    if (adds) name.pop_back();
    ExpandedWord known =
        expanded(std::string_view(word.spelled).substr(word.spelled.find('=') + 1), value_of_);
    if (is_secret(name)) {
      secrets_.push_back(name);
      if (is_exported) script_.env.push_back({name, ""});
      return;
    }
    if (depth_ > 0) note_condition(name, word.spelled);
    if (depth_ > 0 && texts_.contains(name)) return;
    if (adds) {
      const ExpandedWord& before = texts_[name];
      known.text.insert(0, before.text);
      known.is_known = known.is_known && before.is_known;
    }
    variables_.erase(name);
    texts_.erase(name);
    if (known.is_known) variables_.emplace(name, known.text);
    if (!known.is_known) {
      unknown_.push_back(name);
      script_.steps.push_back(
          {word.text.substr(0, word.text.find('=') + 1) + known.spelled, name, is_exported});
    }
    // A text with escapes or single quotes cannot be split into words that a shell reads again.
    if (known.is_known || word.spelled.find_first_of("'\\") == std::string::npos)
      texts_.emplace(name, known);
    if (!is_exported) return;
    if (depth_ > 0) script_.conditional.push_back(name);
    if (known.is_known) {
      script_.env.push_back({name, known.text});
    } else {
      script_.env_unknown.push_back(name);
    }
  }

  void add_directive(const BatchOption& given) {
    const auto& [name, value, typed, begin, end] = given;
    script_.is_batch = true;
    constexpr std::array<std::string_view, 4> kOutput{"output", "o", "error", "e"};
    if (contains(kOutput, name)) return;  // dlaunch keeps the output of every rank
    if (name == "gpus-per-node" || name == "gres" || name == "gpus" || name == "G")
      gpus_ = value.substr(value.rfind(':') + 1);
    if (name == "cpus-per-task" || name == "c") cpus_ = value;
    const LauncherOption* option = find_launcher_option(name, launcher::kSrun);
    const bool is_place = option != nullptr && option->becomes == Becomes::advice;
    if (option == nullptr) {
      const std::string whole = name.size() == 1 ? '-' + name + value
                                : value.empty()  ? "--" + name
                                                 : "--" + name + '=' + value;
      script_.batch.left_out.push_back(
          {typed, "for sbatch: dlaunch submit --sbatch=" + shell_quote(whole)});
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
    set("SLURM_SUBMIT_DIR", ".");
    for (const OwnSetting& one : batch.settings)
      if (one.key == "name") set("SLURM_JOB_NAME", one.value);
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
  VariableValue value_of_;
  std::size_t depth_ = 0;                                      // of if and loops
  std::string loop_;                                           // that is open: "for i in 1 2"
  std::map<std::string, std::string, std::less<>> variables_;  // whose values are known
  std::map<std::string, ExpandedWord, std::less<>> texts_;     // also with variables that are not
  std::map<std::string, ShellCommand, std::less<>> arrays_;
  std::vector<std::string> secrets_;
  std::vector<std::string> unknown_;  // variables that only the script knows
  std::vector<std::pair<std::string, std::string>> conditions_;  // names and their assignments
  std::vector<std::pair<std::string, ShellCommand>> prefixes_;   // commands, and those before them
  std::string gpus_;
  std::string cpus_;
};

}  // namespace

LaunchScript read_launch_script(std::string_view text) {
  return ScriptReader(text).read();
}

}  // namespace dlaunch::jobfile
