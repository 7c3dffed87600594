// Batch scripts of Slurm: the #SBATCH lines and the line that starts the ranks become a job.
// Rules: sbatch(1), srun(1); job-specs 10.
#include <algorithm>
#include <array>
#include <utility>

#include "jobfile/dialects/dialect.h"
#include "jobfile/dialects/paths.h"
#include "jobfile/dialects/sbatch_words.h"
#include "jobfile/dialects/started_programs.h"
#include "jobfile/launch_lines/batch_options.h"
#include "jobfile/launch_lines/draft_source.h"
#include "jobfile/launch_lines/launch_script.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "jobfile/suggestion.h"
#include "model/rank_variables.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

bool is_of_slurm(const std::string& name) {
  return name.starts_with("SLURM_") || name.starts_with("SLURMD_");
}

class BatchScript {
 public:
  explicit BatchScript(Translation& translation)
      : t_(translation), text_(t_.sources[0].text), script_(read_launch_script(text_)) {}

  void translate() {
    for (const BatchOption& option : batch_options(text_)) read_option(option);
    if (refuse_mistakes() || !has_one_line()) return;
    line_at_ = range_of_line();
    set_framework();
    set_counts();
    refuse_other_counts();
    set_command();
    set_setup();
    for (const OwnSetting& one : script_.line->options.settings) put(one, line_at_);
    for (const std::string& name : script_.line->options.passed) t_.pass_on({name, line_at_});
    set_environment();
    set_workdir();
    add_notes();
  }

 private:
  static SourceRange range_of(const BatchOption& option) {
    return {0, static_cast<std::uint32_t>(option.begin),
            static_cast<std::uint32_t>(option.end - option.begin)};
  }

  [[nodiscard]] SourceRange range_at(std::size_t at) const {
    const auto end = std::min(text_.find('\n', at), text_.size());
    return {0, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end - at)};
  }

  [[nodiscard]] SourceRange range_of_line() const { return range_at(script_.offset); }

  /// The first place outside of comments where the script contains the text; otherwise the launch
  /// line.
  [[nodiscard]] SourceRange range_of(std::string_view needle) const {
    for (auto at = text_.find(needle); at != std::string::npos; at = text_.find(needle, at + 1)) {
      const auto begin = text_.rfind('\n', at) + 1;  // npos + 1 is 0
      const bool is_inside = at > 0 && (is_letter_or_digit(text_[at - 1]) || text_[at - 1] == '_');
      if (text_[begin] != '#' && !is_inside)
        return {0, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(needle.size())};
    }
    return line_at_;
  }

  void read_option(const BatchOption& given) {
    const SourceRange at = range_of(given);
    if (given.name == "array" || given.name == "a")
      return t_.diagnostics.error(at, "this is a job array, but dlaunch runs one job: remove " +
                                          given.typed +
                                          ", and replace $SLURM_ARRAY_TASK_ID with a value");
    if (given.name == "hetjob" || given.name == "packjob")
      return t_.diagnostics.error(at,
                                  "this is a heterogeneous job, but dlaunch starts one program; to "
                                  "start several, use roles: dlaunch help roles");
    const LauncherOption* option = find_launcher_option(given.name, launcher::kSrun);
    if (option == nullptr) return read_other_option(given, at);
    if (option->values > 0 && given.value.empty())
      return t_.diagnostics.error(at, given.typed + " needs a value");
    const bool is_used = !is_advice(option->becomes) && option->becomes != Becomes::queue;
    if (!is_used) t_.not_used.push_back({given.typed, at});
    OwnOptions own;
    own.add(*option, given.typed,
            option->values == 0 ? std::vector<std::string>{} : std::vector{given.value});
    if (!own.nodes.empty()) nodes_at_ = at;
    if (!own.total.empty() || !own.per_node.empty()) counts_at_ = at;
    submit_.insert(submit_.end(), own.submit.begin(), own.submit.end());
    for (const OwnSetting& one : own.settings) put(one, at);
    for (const std::string& name : own.passed) t_.pass_on({name, at});
    if (!is_used) return;
    for (const LeftOut& one : own.left_out) t_.note_at(at, one.typed + ": " + one.why);
  }

  void read_other_option(const BatchOption& given, SourceRange at) {
    std::vector<std::string_view> known = other_sbatch_options();
    if (contains(known, given.name)) {
      t_.not_used.push_back({given.typed, at});
      return;
    }
    known.emplace_back("array");
    for (const LauncherOption& option : launcher_options())
      if ((option.launchers & launcher::kSrun) != 0) known.push_back(option.name);
    std::vector<std::string> spelled;
    for (const std::string_view name : known) spelled.push_back(dashed(name));
    const std::vector<std::string_view> names(spelled.begin(), spelled.end());
    t_.diagnostics.error(
        at, "sbatch has no option " + in_quotes(given.typed) + did_you_mean(dashed(given.name), names));
  }

  /// True: errors were reported.
  bool refuse_mistakes() {
    for (const ScriptMistake& one : script_.mistakes)
      t_.diagnostics.error(range_at(std::min(one.offset, text_.size())), one.text);
    return !script_.mistakes.empty();
  }

  /// Reports counts on the command line if the program uses the script's counts: they would change
  /// the number of ranks, but not the numbers that the program was given.
  void refuse_other_counts() {
    const bool is_other =
        t_.is_set("nodes") || t_.is_set("processes") || t_.is_set("processes_per_node");
    if (!is_other) return;
    const LaunchScript other = read_launch_script(text_, false);
    const bool uses_counts = other.env != script_.env || !other.line ||
                             program_words(*other.line) != program_words(*script_.line);
    if (uses_counts)
      t_.diagnostics.error(line_at_,
                           "the script gives the program a count from Slurm, such as "
                           "$SLURM_NNODES, which the command line cannot change: change the "
                           "#SBATCH lines instead");
  }

  static std::string dashed(std::string_view name) {
    return (name.size() == 1 ? "-" : "--") + std::string(name);
  }

  /// False: an error was reported.
  bool has_one_line() {
    for (const std::string& command : script_.ignored) {
      if (file_name(split_words(command + " x").front()) != "dlaunch") continue;
      t_.diagnostics.error(range_of(command.substr(0, command.find(' '))),
                           "this script starts dlaunch itself: submit it with sbatch");
      return false;
    }
    if (!script_.line || script_.line->program.empty()) {
      t_.diagnostics.error(SourceRange::whole(0),
                           "no line of this batch script starts a program with srun, mpirun, "
                           "torchrun, accelerate or deepspeed, or runs a Python script. Submit the "
                           "batch script with sbatch, or start its program: dlaunch run -n 4 -- "
                           "PROGRAM");
      return false;
    }
    if (!script_.others.empty()) {
      t_.diagnostics.error(range_of_line(),
                           "the script starts ranks " + std::to_string(script_.others.size() + 1) +
                               " times (" + script_.line->launcher + "; " +
                               joined(script_.others, "; ") +
                               "), but dlaunch runs one job: keep only one of these lines");
      return false;
    }
    if (script_.loop.empty()) return true;
    t_.diagnostics.error(range_of_line(),
                         "the line that starts the ranks is in a loop (" + in_quotes(script_.loop) +
                             "), but dlaunch runs one job: move it out of the loop");
    return false;
  }

  [[nodiscard]] bool starts(std::string_view launcher) const {
    return script_.line->launcher.find(launcher) != std::string::npos;
  }

  void set_framework() {
    DraftInput input;
    bool is_python = false;
    for (const std::string& word : program_words(*script_.line)) {
      is_python = is_python || word.ends_with(".py") || file_name(word).starts_with("python");
      if (!word.ends_with(".py") || !t_.input.foreign.read_file) continue;
      if (auto file = t_.input.foreign.read_file(path_below(t_.input.foreign.current_folder, word)))
        input.files.push_back({word, std::move(*file)});
    }
    std::string name = framework_of(input, *script_.line).name;
    if (name.empty() && script_.line->launcher == "srun" && !is_python) name = "mpi";
    if (name.empty()) name = script_.line->launcher.empty() && !is_python ? "none" : "pytorch";
    t_.job.text({"framework"}, name, line_at_);
    is_mpi_ = name == "mpi";
    if (is_mpi_) t_.job.text({"mpi", "init"}, "optional", line_at_);
  }

  void set_counts() {
    RankCounts counts = counts_of(script_);
    const bool is_first_node_only = !starts("srun") && !starts("mpi") && !starts("orte") &&
                                    !starts("prte") && !starts("horovod") && !starts("deepspeed");
    if (is_first_node_only && script_.line->options.nodes.empty()) {
      if (!script_.batch.nodes.empty() && script_.batch.nodes != "1")
        t_.note_at(line_at_, "one node is used, not " + script_.batch.nodes +
                                 ": without srun, this line starts its program only on the first "
                                 "node");
      counts.nodes = "1";
    }
    set_nodes(counts.nodes);
    for (const OwnSetting& one : script_.line->options.settings)
      if (one.key == "gpus") counts.per_node = one.value;  // deepspeed --num_gpus
    if (!counts.total.empty()) return put({"processes", counts.total}, counts_at());
    if (counts.per_node.empty()) {
      const bool takes_gpus = starts("deepspeed") || starts("accelerate");
      counts.per_node = takes_gpus ? "auto" : "1";
    }
    put({"processes_per_node", counts.per_node}, counts_at());
  }

  /// The range of the launch line or the option that sets the count.
  [[nodiscard]] SourceRange counts_at() const {
    const OwnOptions& own = script_.line->options;
    const bool is_in_line = !own.total.empty() || !own.per_node.empty() || counts_at_.is_whole();
    return is_in_line ? line_at_ : counts_at_;
  }

  void set_nodes(const std::string& nodes) {
    if (nodes.empty()) return;
    const bool is_in_line = !script_.line->options.nodes.empty() || nodes_at_.is_whole();
    const SourceRange at = is_in_line ? line_at_ : nodes_at_;
    const auto colon = nodes.find(':');
    if (colon == std::string::npos) return put({"nodes", nodes}, at);
    put({"nodes.min", nodes.substr(0, colon)}, at);
    put({"nodes.max", nodes.substr(colon + 1)}, at);
  }

  void put(const OwnSetting& setting, SourceRange at) {
    const std::string& key = setting.key;
    if (key == "include" || key == "exclude") {
      t_.note_at(at, "to select hosts in the same way: dlaunch run --" + key + ' ' + setting.value);
      return;
    }
    if (key == "gpus") return;
    if (key.starts_with("rendezvous.")) return not_needed_.push_back(key.substr(11));
    if (key.starts_with("env.")) return set_variable(key.substr(4), setting.value, at);
    if (key == "workdir") {
      script_.workdir = setting.value;
      return;
    }
    const auto dot = key.find('.');
    NativeJob::Path path{std::string_view(key).substr(0, dot)};
    if (dot != std::string::npos) path.emplace_back(std::string_view(key).substr(dot + 1));
    if (const auto number = parse_integer(setting.value); number && key != "name") {
      t_.job.number(path, *number, at);
    } else if (key != "timeouts.run" || setting.value != "none") {
      t_.job.text(path, setting.value, at);
    }
  }

  /// Sets the folder of `cd`, relative to the current folder, in which sbatch starts the script.
  void set_workdir() {
    const std::string& folder = script_.workdir;
    if (folder.empty()) return;
    t_.job.text({"workdir"}, path_below(t_.input.foreign.current_folder, folder),
                range_of(std::string_view(folder)));
  }

  void set_command() {
    std::vector<std::string> words;
    for (const ExpandedWord& word : script_.line->program) {
      constexpr std::array<std::string_view, 4> kArguments{"$@", "\"$@\"", "$*", "\"$*\""};
      if (word.spelled.empty() || contains(kArguments, std::string_view(word.spelled))) continue;
      words.push_back(with_substitutions(word.spelled, script_.substitutions));
      needs_bash_ = needs_bash_ || needs_bash(words.back());
    }
    command_ = joined(words, " ");
    t_.job.text({"command"}, command_, line_at_);
    refuse_unknown(names_in(command_));
    if (asks_slurm(command_))
      t_.diagnostics.error(line_at_,
                           "the program's arguments need Slurm's commands or its node list; "
                           "replace them with values, or with variables that dlaunch sets, such as "
                           "$MASTER_ADDR and $RANK");
  }

  [[nodiscard]] bool is_set_by_dlaunch(std::string_view name) const {
    return is_rank_variable(is_mpi_ ? Framework::mpi : Framework::pytorch, name);
  }

  void refuse_unknown(const Names& names) {
    slurm_only_ = slurm_only_variables(script_.steps);
    for (const ShellStep& step : script_.steps) {
      if (!slurm_only_.contains(step.name)) continue;
      if (names.contains(step.name) && !is_set_by_dlaunch(step.name))
        t_.diagnostics.error(range_of(step.name + '='),
                             "the program's arguments use $" + step.name +
                                 ", whose value only Slurm knows; replace the variable, for "
                                 "example with $MASTER_ADDR, which dlaunch sets");
    }
    for (const std::string& name : names) {
      if (is_digit(name.front()))
        t_.diagnostics.error(line_at_, "the program's arguments use the script's argument $" +
                                           name + ": replace $" + name + " with its value");
    }
  }

  void set_setup() {
    std::vector<const ShellStep*> steps = needed_steps(script_.steps, command_);
    std::erase_if(steps, [this](const ShellStep* step) {
      return is_set_by_dlaunch(step->name) || slurm_only_.contains(step->name) ||
             asks_slurm(step->text);
    });
    std::vector<std::string> lines;
    std::vector<std::string> evaluated;
    Names names = names_in(command_);
    for (const ShellStep* step : steps) {
      lines.push_back((step->is_exported ? "export " : "") + step->text);
      names.merge(names_in(step->text));
      if (!step->name.empty() && step->text.find("$(") != std::string::npos)
        evaluated.push_back(step->name);
    }
    if (!evaluated.empty())
      t_.note_at(range_of(evaluated.front() + '='),
                 "every rank computes " + joined(evaluated) + " for itself");
    if (const std::string exports = slurm_exports(names, script_.line->launcher == "srun");
        !exports.empty())
      lines.insert(lines.begin(), exports);
    pass_names(names, steps);
    if (!lines.empty()) t_.job.text({"setup"}, joined(lines, "\n"), line_at_);
    if (!lines.empty() || needs_bash_) t_.job.text({"shell"}, "bash", line_at_);
  }

  /// Passes on the variables that the script does not set: sbatch passes on its own environment.
  void pass_names(const Names& names, const std::vector<const ShellStep*>& steps) {
    for (const ScriptMistake& one : script_.set_by_commands) {
      if (names.contains(one.text) && !is_set_by_dlaunch(one.text))
        t_.diagnostics.error(range_at(one.offset),
                             "the launch line uses $" + one.text +
                                 ", whose value is known only when the script runs: write the "
                                 "value in its place, or submit the script with sbatch");
    }
    for (const std::string& name : names) {
      const bool is_assigned =
          std::any_of(steps.begin(), steps.end(), [&](auto* step) { return step->name == name; });
      const bool is_of_command =
          std::any_of(script_.set_by_commands.begin(), script_.set_by_commands.end(),
                      [&](const ScriptMistake& one) { return one.text == name; });
      if (is_assigned || is_of_command || is_digit(name.front()) || is_usual(name) || is_of_slurm(name) ||
          is_set_by_dlaunch(name) || slurm_only_.contains(name) || name.starts_with("DLAUNCH_") ||
          contains(script_.env_unknown, name))
        continue;
      if (is_secret(name)) {
        secrets_.push_back({name, line_at_});
      } else {
        const SourceRange at = range_of('$' + name);
        t_.pass_on({name, at});
        t_.note_at(at, name +
                           " is passed on from dlaunch's own environment, as the script does "
                           "not set it");
      }
    }
  }

  void set_variable(const std::string& name, const std::string& value, SourceRange at) {
    if (is_set_by_dlaunch(name)) {
      dropped_.push_back({name, at});
    } else if (is_secret(name)) {
      secrets_.push_back({name, at});
    } else {
      t_.job.text({"env", name}, value, at);
    }
  }

  void set_environment() {
    for (const OwnSetting& one : script_.env) set_variable(one.key, one.value, range_of(one.key));
    for (const std::string& name : script_.env_unknown)
      if (is_set_by_dlaunch(name)) dropped_.push_back({name, range_of(name + '=')});
    for (const std::string& name : script_.conditional)
      if (!is_set_by_dlaunch(name))
        t_.note_at(range_of(name + '='), "the script sets " + name +
                                             " only in some cases, dlaunch always; to change its "
                                             "value: --set env." +
                                             name + "=VALUE");
    std::vector<LocatedText> secrets;
    for (const LocatedText& one : secrets_) {
      const bool is_new = std::none_of(secrets.begin(), secrets.end(),
                                       [&](const auto& other) { return other.text == one.text; });
      if (is_new) secrets.push_back(one);
    }
    if (secrets.empty()) return;
    t_.job.texts({"env_secret"}, secrets, secrets.front().range);
    t_.note_at(secrets.front().range,
               "secrets are not copied from the script; set them in the shell that starts "
               "dlaunch: " +
                   joined(secrets, ", ", &LocatedText::text));
  }

  void add_notes() {
    for (const LeftOut& one : script_.line->options.left_out) {
      if (one.why.starts_with("not needed") || one.why == "known only when the script runs") {
        not_needed_.push_back(one.typed.substr(0, one.typed.find_first_of(" =")));
      } else {
        t_.note_at(line_at_, one.typed + ": " + one.why);
      }
    }
    if (!not_needed_.empty())
      t_.note_at(line_at_,
                 "options of the launch line that are not used, as dlaunch starts the "
                 "ranks: " +
                     joined(not_needed_));
    if (!dropped_.empty())
      t_.note_at(dropped_.front().range, "dlaunch sets these variables itself: " +
                                             joined(dropped_, ", ", &LocatedText::text));
    for (const LeftOut& one : script_.left_out)
      t_.note_at(range_of(first_word(one.typed)), in_quotes(one.typed) + ": " + one.why);
    for (const std::string& name : script_.env_unknown)
      if (slurm_only_.contains(name) && !is_set_by_dlaunch(name))
        t_.note_at(range_of(name + '='), name + " is not set: only Slurm knows its value");
    note_ignored();
    if (!submit_.empty())
      t_.notes.push_back("to submit the job to Slurm: dlaunch submit " + shell_line(submit_) + ' ' +
                         shell_quote(t_.input.file));
  }

  /// Notes the script's commands other than the launch line.
  void note_ignored() {
    const IgnoredCommands ignored = ignored_commands(script_);
    if (!ignored.shown.empty())
      t_.note_at(range_of(ignored.first),
                 "commands of the script that dlaunch does not run: " + joined(ignored.shown));
  }

  Translation& t_;
  const std::string text_;
  LaunchScript script_;
  SourceRange line_at_ = SourceRange::whole(0);
  SourceRange nodes_at_ = SourceRange::whole(0);
  SourceRange counts_at_ = SourceRange::whole(0);
  std::string command_;
  bool needs_bash_ = false;
  bool is_mpi_ = false;
  Names slurm_only_;  // variables whose values need Slurm's commands
  std::vector<LocatedText> secrets_;
  std::vector<LocatedText> dropped_;  // variables that dlaunch sets
  std::vector<std::string> submit_;
  std::vector<std::string> not_needed_;
};

std::string why_no_document(const Document& /*document*/, NodeId /*root*/) {
  return "a batch script is not YAML";
}

void translate_sbatch(Translation& translation) {
  BatchScript(translation).translate();
}

}  // namespace

const Dialect kSbatch{.name = "sbatch", .why_not = why_no_document, .translate = translate_sbatch};

}  // namespace dlaunch::jobfile
