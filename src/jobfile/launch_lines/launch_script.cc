#include "jobfile/launch_lines/launch_script.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "jobfile/dialects/shell_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/launch_lines/batch_options.h"
#include "jobfile/launch_lines/script_commands.h"
#include "jobfile/launch_lines/script_words.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

constexpr const char* kConditional = "conditional in the script";

class ScriptReader {
 public:
  /// `takes_programs`: a Python script without a launcher is a launch line.
  ScriptReader(std::string_view source, bool takes_programs, bool knows_counts)
      : source_(source),
        takes_programs_(takes_programs),
        knows_counts_(knows_counts),
        clean_(read_script_text(source)),
        text_(clean_.text),
        value_of_([this](std::string_view name) { return value(name); }) {
    script_.substitutions = clean_.substitutions;
  }

  LaunchScript read() {
    const auto dos = source_.find("\r\n");
    if (dos != std::string_view::npos)
      clean_.mistake = ScriptMistake{dos, "DOS line endings: dos2unix FILE removes them"};
    if (clean_.mistake) return refused(*clean_.mistake);
    const ScriptCommands all = script_commands(text_);
    if (all.mistake) return refused({clean_.source_offset(all.mistake->offset), all.mistake->text});
    read_batch_options();
    for (const std::string& name : all.loop_variables) script_.set_by_commands.push_back({0, name});
    for (const ScriptCommand& one : all.commands)
      if (!read_next(one)) break;
    for (std::string& line : script_.setup) reveal(line);
    for (ShellStep& step : script_.steps) reveal(step.text);
    for (std::string& command : script_.ignored) reveal(command);
    return std::move(script_);
  }

 private:
  LaunchScript refused(ScriptMistake mistake) {
    script_.is_batch = !batch_options(source_).empty();
    script_.mistakes.push_back(std::move(mistake));
    return std::move(script_);
  }

  void refuse(std::string text) { script_.mistakes.push_back({at_, std::move(text)}); }

  [[nodiscard]] std::optional<std::string> value(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Reads an array; its words get the values that their variables have at this line.
  void take_array(std::string_view line) {
    const auto open = line.find("=(");
    std::string name(without_declaration(line.substr(0, open)));
    const bool adds = name.ends_with('+');
    if (adds) name.pop_back();
    const std::string_view content = line.substr(open + 2);
    const auto end = std::min(end_of_group(content, 0), content.size());
    if (is_conditional_) note_condition(name, line);
    if (is_conditional_ && arrays_.contains(name)) return;
    script_.steps.push_back({std::string(without_declaration(line.substr(0, open + 2))) +
                                 std::string(content.substr(0, end)) + ')',
                             name});
    ShellCommand& array = arrays_[name];
    ShellCommand words;
    for (const ShellCommand& command : shell_commands(content.substr(0, end)))
      for (const ShellWord& word : split_variables(command)) {
        ExpandedWord known = expanded(word.spelled, value_of_);
        words.push_back({std::move(known.text), std::move(known.spelled)});
      }
    if (!adds) array.clear();
    array.insert(array.end(), words.begin(), words.end());
  }

  /// Splits variables into words as the shell does: an unquoted variable, `torchrun $ARGS`, and any
  /// array, `torchrun "${ARGS[@]}"`.
  [[nodiscard]] ShellCommand split_variables(const ShellCommand& words) const {
    ShellCommand split;
    for (const ShellWord& word : words) {
      const bool is_shell_text = split.size() > 1 && split.back().text.ends_with("c") &&
                                 split.back().text.starts_with('-') &&
                                 file_name(split[split.size() - 2].text).ends_with("sh");
      if (is_shell_text && word.spelled.find_first_of("'\"") == 0) {
        const VariableValue text_of = [this](std::string_view variable) {
          const auto known = texts_.find(variable);
          return known == texts_.end() ? std::nullopt : std::optional(known->second.text);
        };
        // In double quotes the values become part of the text that the inner shell reads.
        const bool is_read_again = word.spelled.starts_with('"');
        const std::string text =
            is_read_again ? expanded(word.spelled, text_of).text : with_values(word.text, text_of);
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
        for (const ShellWord& one : array->second) add_element(one, is_quoted, split);
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

  /// Adds an element of an array. Without quotes, an element with blanks becomes several words.
  void add_element(const ShellWord& element, bool is_quoted, ShellCommand& words) const {
    const ExpandedWord known = expanded(element.spelled, value_of_);
    if (is_quoted || !known.is_known || split_words(known.text).size() == 1)
      return words.push_back(element);
    for (const std::string_view part : split_words(known.text))
      words.push_back({std::string(part), unquoted_value(part)});
  }

  /// Whether the command starts ranks.
  bool starts_ranks(const ScriptCommand& one, const ShellCommand& command) {
    bool is_start = false;
    for (const ShellCommand& started : started_shell_commands(spelled_line(command))) {
      const ShellCommand words = split_variables(started);
      auto line = read_launch_line(words, value_of_);
      if (line) refuse_programs(*line);
      if (!line && takes_programs_ && !script_.line && runs_program(words)) {
        line.emplace();
        for (const ShellWord& word : words)
          line->program.push_back(expanded(word.spelled, value_of_));
      }
      if (!line || only_looks(*line)) continue;
      is_start = true;
      if (script_.loop.empty()) script_.loop = one.loop;
      if (one.is_inside) {
        refuse(
            "the line that starts the ranks is in a function or in parentheses: write it "
            "outside of them, or submit the script with sbatch");
      } else if (script_.line) {
        script_.others.push_back(line->launcher);
      } else {
        set_line(std::move(*line), one, command, started);
      }
    }
    return is_start;
  }

  void refuse_programs(const LaunchLine& line) {
    for (const LeftOut& one : line.options.left_out)
      if (one.typed == ":" || one.typed.starts_with("--multi-prog"))
        refuse("the line starts several programs (" + one.typed +
               "), but dlaunch starts one; for others use roles: dlaunch help roles");
  }

  void set_line(LaunchLine line, const ScriptCommand& one, const ShellCommand& command,
                const ShellCommand& started) {
    script_.line = std::move(line);
    script_.offset = at_;
    script_.line_number =
        1 + static_cast<std::size_t>(std::count(
                source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
    if (one.reads_input)
      refuse(
          "the program reads standard input, which ranks do not have: put the input in a file, "
          "and give the program the file's name");
    for (LeftOut& left_out : script_.line->options.left_out) reveal(left_out.typed);
    const std::string spelled = spelled_line(started);
    if (is_conditional_ && one.loop.empty())
      script_.left_out.push_back({revealed(spelled), kConditional});
    for (const auto& [name, assignment] : conditions_)
      if (mentions_variable(spelled, name))
        script_.left_out.push_back({revealed(assignment), kConditional});
    assign_prefix(command, started);
    for (const std::string& name : secrets_)
      if (mentions_variable(spelled, name) && !contains(script_.env, OwnSetting{name, ""}))
        script_.env.push_back({name, ""});
  }

  /// Reads A and B in "A=1 env B=2 torchrun ...". The shell expands the line before it sets them.
  void assign_prefix(const ShellCommand& command, const ShellCommand& started) {
    const bool is_here = command.size() >= started.size() &&
                         spelled_line({command.end() - static_cast<std::ptrdiff_t>(started.size()),
                                       command.end()}) == spelled_line(started);
    const std::size_t count = is_here ? command.size() - started.size() : command.size();
    const std::string program = joined(script_.line->program, " ", &ExpandedWord::spelled);
    is_conditional_ = false;
    for (std::size_t at = 0; at < count; ++at) {
      const ShellWord& word = command[at];
      if (!is_assignment(word.text)) {
        if (!is_here) return;
        continue;
      }
      const std::string name = word.text.substr(0, word.text.find_first_of("+="));
      if (is_here && mentions_variable(program, name))
        refuse("the line sets $" + name +
               " but uses its previous value: write that value instead "
               "of $" +
               name + ", or export " + name + " on an earlier line");
      assign(word, true);
    }
  }

  [[nodiscard]] std::string revealed(std::string text) const {
    return with_substitutions(std::move(text), script_.substitutions);
  }

  void reveal(std::string& text) const { text = revealed(std::move(text)); }

  void note_condition(const std::string& name, std::string_view assignment) {
    conditions_.emplace_back(name, trimmed(assignment));
  }

  /// False: the script ends here.
  bool read_next(const ScriptCommand& one) {
    const std::vector<ShellCommand> parts = shell_commands(one.text);  // "<(x)" is one, too
    at_ = clean_.source_offset(one.begin);
    set_condition(one);
    if (one.text.starts_with("((")) names_set_by(one.text);
    if (parts.empty()) return true;
    const ShellCommand& command = parts.back();
    const bool was_prepared =
        std::exchange(is_prepared_, false) && one.after != ScriptCommand::After::none;
    const bool is_in_pipe = one.is_before_pipe || one.after == ScriptCommand::After::pipe;
    if (starts_ranks(one, command)) return true;
    if (script_.line && is_assignment(command.front().text)) return true;
    if (script_.line || one.is_inside || is_in_pipe) {
      script_.ignored.push_back(spelled_line(command));
    } else if (command.front().text == "exit" && !is_conditional_) {
      return false;
    } else if (begins_array(one.text)) {
      take_array(one.text);
    } else if (prepares_shell(command.front().text, revealed(spelled_line(command)))) {
      add_setup(command);
      is_prepared_ = true;
    } else if (was_prepared) {
      leave_out(command);
    } else {
      read_command(command);
    }
    is_chain_sure_ = is_chain_sure_ && is_sure(command);
    return true;
  }

  /// Notes whether the command is conditional: in an `if` or a loop, or after a test. A conditional
  /// assignment applies only if the variable has no value yet.
  void set_condition(const ScriptCommand& one) {
    if (one.after == ScriptCommand::After::none) is_chain_sure_ = true;
    if (one.after == ScriptCommand::After::or_if) is_chain_sure_ = false;
    is_conditional_ = one.is_for_some || !is_chain_sure_;
  }

  void add_setup(const ShellCommand& command) {
    const std::string line = spelled_line(command);
    const bool is_unknown = std::any_of(unknown_.begin(), unknown_.end(), [&](const auto& name) {
      return mentions_variable(line, name);
    });
    if (is_conditional_) return script_.left_out.push_back({revealed(line), kConditional});
    const std::string known = joined(command, " ", [this](const ShellWord& word) {
      return expanded(word.spelled, value_of_).spelled;
    });
    script_.steps.push_back({known, ""});
    if (is_unknown) {
      script_.setup_unknown.push_back(
          {revealed(line), "belongs in setup, but only the script knows its variables"});
    } else {
      script_.setup.push_back(known);
    }
  }

  /// Handles a command that is joined to a preceding setup command, but is not a setup command.
  void leave_out(const ShellCommand& command) {
    if (command.front().text == "cd" || is_assignment(command.front().text) ||
        command.front().text == "export")
      return read_command(command);
    constexpr std::array<std::string_view, 7> kOthers{"fi",     "done", "esac", "exit",
                                                      "return", "true", ":"};
    if (contains(kOthers, command.front().text)) return;
    script_.left_out.push_back(
        {revealed(spelled_line(command)), "belongs in setup, if ranks need it"});
  }

  void read_command(const ShellCommand& command) {
    if (command.front().text != "cd" || command.size() != 2) return read_assignments(command);
    if (is_conditional_)
      return script_.left_out.push_back({revealed(spelled_line(command)), kConditional});
    const ExpandedWord folder = expanded(command[1].spelled, value_of_);
    if (folder.is_known && folder.text != ".") script_.workdir = folder.text;
    if (!folder.is_known) script_.steps.push_back({"cd " + folder.spelled, ""});
  }

  /// Reads "export A=1" and "A=1". Assignments before a program apply only to that program.
  void read_assignments(const ShellCommand& words) {
    const std::string& first = words.front().text;
    bool is_export = first == "export";
    const bool is_declaration = is_export || declares(first);
    if (!is_declaration && !is_assignment(first)) return see_command(words);
    std::size_t at = is_declaration ? 1 : 0;
    for (; is_declaration && at < words.size() && words[at].text.starts_with('-'); ++at)
      is_export = is_export || words[at].text.find('x') != std::string::npos;
    const auto end =
        std::find_if_not(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(),
                         [](const ShellWord& word) { return is_assignment(word.text); });
    if (end != words.end() && !is_declaration) return see_command({end, words.end()});
    for (; at < words.size() && is_assignment(words[at].text); ++at) assign(words[at], is_export);
    for (; is_export && at < words.size(); ++at) export_name(words[at].text);
  }

  void export_name(const std::string& name) {
    if (const auto known = value(name)) {
      script_.env.push_back({name, *known});
    } else if (contains(secrets_, name)) {
      script_.env.push_back({name, ""});
    } else {
      for (ShellStep& step : script_.steps)
        step.is_exported = step.is_exported || step.name == name;
    }
  }

  void see_command(const ShellCommand& words) {
    constexpr std::array<std::string_view, 6> kSetters{"read",    "mapfile", "readarray",
                                                       "getopts", "let",     "unset"};
    const std::string& word = words.front().text;
    const std::string line = spelled_line(words);
    if (contains(kSetters, word) || line.starts_with("printf -v ")) names_set_by(line);
    if (word == "unset")
      for (const ShellWord& name : words)
        std::erase_if(script_.env, [&](const OwnSetting& one) { return one.key == name.text; });
    if (word == "set" && words.size() > 1) read_set(words);
    script_.ignored.push_back(line);
  }

  void read_set(const ShellCommand& words) {
    if (words.back().text == "allexport" || words[1].text == "-a") exports_all_ = true;
    if (words[1].text == "--")
      refuse("\"set --\" replaces the script's arguments: write them in the launch line instead");
  }

  /// Finds the names in "read -r NAME", ((NAME++)) and the like. After that command, their values
  /// are unknown.
  void names_set_by(std::string_view text) {
    if (script_.line) return;
    for (std::size_t at = 0; at < text.size();) {
      auto end = at;
      while (end < text.size() && (is_letter_or_digit(text[end]) || text[end] == '_')) ++end;
      const std::string name(text.substr(at, end - at));
      at = end + 1;
      if (name.empty() || is_digit(name.front())) continue;
      script_.set_by_commands.push_back({at_, name});
      variables_.erase(name);
      texts_.erase(name);
      arrays_.erase(name);
    }
  }

  void assign(const ShellWord& word, bool is_exported) {
    is_exported = is_exported || exports_all_;
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
    if (is_conditional_) note_condition(name, word.spelled);
    if (is_conditional_ && texts_.contains(name)) return;
    if (known.spelled.find(":~") != std::string::npos) known.is_known = false;  // a home folder
    if (adds) {
      const ExpandedWord& before = texts_[name];
      known.is_known = known.is_known && before.is_known &&
                       before.text.size() + known.text.size() <= kLongestValue;
      known.text.insert(0, before.text.substr(0, kLongestValue));
    }
    std::erase_if(script_.set_by_commands, [&](const auto& one) { return one.text == name; });
    variables_.erase(name);
    texts_.erase(name);
    if (known.is_known) {
      variables_.emplace(name, known.text);
      // For ${NAME%.*} and the like, which only a shell expands.
      script_.steps.push_back({name + '=' + shell_quote(known.text), name, false});
    } else {
      unknown_.push_back(name);
      script_.steps.push_back(
          {word.text.substr(0, word.text.find('=') + 1) + known.spelled, name, is_exported});
    }
    // A text with escapes or single quotes cannot be split into words for another shell.
    if (known.is_known || word.spelled.find_first_of("'\\") == std::string::npos)
      texts_.emplace(name, known);
    forget_texts_with(name);
    if (!is_exported) return;
    if (is_conditional_) script_.conditional.push_back(name);
    if (known.is_known) {
      script_.env.push_back({name, known.text});
    } else {
      script_.env_unknown.push_back(name);
    }
  }

  /// Drops texts that mention `name`: they mean its old value, but the launch line would insert the
  /// new one.
  void forget_texts_with(const std::string& name) {
    std::erase_if(texts_, [&](const auto& one) {
      if (one.second.is_known) return false;
      const std::string text = revealed(one.second.text);
      const bool has_arithmetic = text.find("$((") != std::string::npos;
      return mentions_variable(text, name) ||
             (has_arithmetic && text.find(name) != std::string::npos);
    });
  }

  void read_batch_options() {
    BatchReading batch = read_batch(source_, knows_counts_);
    script_.is_batch = batch.is_batch;
    script_.batch = std::move(batch.options);
    for (auto& [name, text] : batch.variables) variables_.try_emplace(name, std::move(text));
  }

  LaunchScript script_;
  std::string_view source_;
  bool takes_programs_;
  bool knows_counts_;
  ScriptText clean_;
  std::string_view text_;
  VariableValue value_of_;
  std::size_t at_ = 0;           // of the current command, in `source_`
  bool is_conditional_ = false;  // the current command is conditional
  bool is_chain_sure_ = true;    // the preceding commands, joined by "&&", are sure (is_sure())
  bool is_prepared_ = false;     // the previous command prepares the shell
  bool exports_all_ = false;     // set -a
  std::map<std::string, std::string, std::less<>> variables_;  // variables with known values
  std::map<std::string, ExpandedWord, std::less<>> texts_;     // may contain unknown variables
  std::map<std::string, ShellCommand, std::less<>> arrays_;
  std::vector<std::string> secrets_;
  std::vector<std::string> unknown_;  // variables that only the script knows
  std::vector<std::pair<std::string, std::string>> conditions_;  // names and their assignments
};

}  // namespace

LaunchScript read_launch_script(std::string_view text, bool knows_counts) {
  LaunchScript script = ScriptReader(text, false, knows_counts).read();
  const bool is_done = script.line || !script.mistakes.empty();
  return is_done ? script : ScriptReader(text, true, knows_counts).read();
}

}  // namespace dlaunch::jobfile
