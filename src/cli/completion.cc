#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobfile/field_table.h"
#include "report/explain.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using CompletedWords = std::vector<CompletedWord>;

// bash splits words at "=": the script joins them for dlaunch, and removes the part up to the last
// "=" from dlaunch's answers, because bash replaces only the text after it.
constexpr std::string_view kBash =
    R"sh(# Completion of dlaunch for bash: source <(dlaunch completion bash)
_dlaunch() {
  local line word before i words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word = "=" || (${COMP_WORDS[i - 1]} = "=" && $i -gt 2) ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  word=${words[-1]}
  before=${word%"${word##*=}"}
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    [[ ! $line ]] || COMPREPLY+=("${line#"$before"}")
  done <<<"$("$1" complete "${words[@]}" 2>/dev/null)"
  [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -o default -F _dlaunch dlaunch
)sh";

constexpr std::string_view kZsh = R"sh(#compdef dlaunch
# Completion of dlaunch for zsh: source <(dlaunch completion zsh)
_dlaunch() {
  local line word
  local -a found suffix
  while IFS= read -r line; do
    word=${line%%$'\t'*}
    found+=("${word//:/\\:}:${line#*$'\t'}")
  done < <("${(Q)words[1]}" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then
    [[ $word != *= ]] || suffix=(-S '')
    _describe -V dlaunch found "${(@)suffix}"
  else
    _files
  fi
}
if [ "${funcstack[1]}" = _dlaunch ]; then
  _dlaunch
else
  compdef _dlaunch dlaunch
fi
)sh";

constexpr std::string_view kFish =
    R"sh(# Completion of dlaunch for fish: dlaunch completion fish | source
complete -c dlaunch -a '(dlaunch complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
)sh";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kScripts{
    {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}}};

/// Commands whose RUN may have ended; other commands need a live run.
constexpr std::array<std::string_view, 5> kOfEndedRuns{"logs", "report", "collect", "rerun",
                                                       "compare"};

std::string one_line(std::string_view help) {
  std::string line(help);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

CompletedWords command_candidates(const std::vector<CommandGroup>& groups) {
  CompletedWords all;
  for (const CommandGroup& group : groups) {
    for (const Subcommand& command : group.commands)
      all.push_back({command.name, one_line(command.description)});
  }
  return all;
}

CompletedWords words_of(std::initializer_list<std::string_view> words) {
  CompletedWords all;
  for (const std::string_view word : words) all.push_back({std::string(word), ""});
  return all;
}

/// For --set: "timeouts.run=", then "timeouts.run=none" if the key has fixed words.
CompletedWords key_candidates(std::string_view word) {
  CompletedWords all;
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) {
    const std::string key(word.substr(0, equals));
    const jobfile::Field* const field = jobfile::find_field(key);
    if (field == nullptr) return all;
    for (const std::string_view value : jobfile::spellings(*field))
      all.push_back({key + '=' + std::string(value), ""});
    return all;
  }
  for (const jobfile::Field& field : jobfile::fields()) {
    const bool is_of_one_job = field.key.find_first_of("[*") == std::string_view::npos;
    if (is_of_one_job) all.push_back({std::string(field.key) + '=', one_line(field.help)});
  }
  return all;
}

/// For help: commands, keys of the job file and known failures.
CompletedWords topic_candidates(const std::vector<CommandGroup>& groups) {
  CompletedWords all = command_candidates(groups);
  for (const std::string_view name : topic_names()) all.push_back({std::string(name), ""});
  return all;
}

/// Candidates for the last host of a list, each preceded by the earlier hosts.
CompletedWords host_candidates(std::string_view word, const CompletionSources& sources) {
  const std::size_t last = word.find_last_of(",@");
  const std::string before(word.substr(0, last == std::string_view::npos ? 0 : last + 1));
  CompletedWords all = sources.hosts();
  for (CompletedWord& host : all) host.text = before + host.text;
  return all;
}

const OptionRow* find_option(const std::vector<OptionRow>& options, const std::string& word) {
  for (const OptionRow& option : options) {
    if (!option.is_argument() && contains(option.names, word)) return &option;
  }
  return nullptr;
}

/// One command line of a known command.
class Completer {
 public:
  Completer(const std::vector<CommandGroup>& groups, const Subcommand& command,
            const CompletionSources& sources)
      : groups_(groups), command_(command), sources_(sources), options_(help_of(command).options) {}

  /// `words`: those after the command's name.
  [[nodiscard]] CompletedWords complete(const std::vector<std::string>& words) const {
    const std::string& word = words.back();
    std::vector<std::string> arguments;
    const OptionRow* waiting = nullptr;  // for its value
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const bool is_value = std::exchange(waiting, nullptr) != nullptr;
      if (is_value) continue;
      if (!words[i].starts_with('-')) {
        arguments.push_back(words[i]);
      } else if (const OptionRow* option = find_option(options_, words[i])) {
        if (!option->type.empty()) waiting = option;
      }
    }
    const std::string run = arguments.empty() ? "" : arguments.front();
    if (waiting != nullptr) return values_of(*waiting, word, run);
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    if (equals != std::string::npos) return attached_values(word, equals, run);
    if (word.starts_with('-')) return option_names();
    std::size_t before = arguments.size();
    for (const OptionRow& option : options_) {
      if (option.is_argument() && before-- == 0) return values_of(option, word, run);
    }
    return {};
  }

 private:
  [[nodiscard]] CompletedWords attached_values(const std::string& word, std::size_t equals,
                                               const std::string& run) const {
    const OptionRow* const option = find_option(options_, word.substr(0, equals));
    if (option == nullptr) return {};
    CompletedWords all = values_of(*option, std::string_view(word).substr(equals + 1), run);
    for (CompletedWord& one : all) one.text = word.substr(0, equals + 1) + one.text;
    return all;
  }

  [[nodiscard]] CompletedWords option_names() const {
    CompletedWords all;
    for (const OptionRow& option : options_) {
      if (option.is_argument()) continue;
      for (const std::string& name : option.names) all.push_back({name, one_line(option.help)});
    }
    return all;
  }

  /// `run` is the first argument. `attach` accepts a rank instead of RUN.
  [[nodiscard]] CompletedWords values_of(const OptionRow& option, std::string_view word,
                                         const std::string& run) const {
    const bool only_live = !contains(kOfEndedRuns, command_.name);
    const std::string& name = option.names.back();
    if (name == "--set") return key_candidates(word);
    if (name == "--hosts" || name == "--include" || name == "--exclude")
      return host_candidates(word, sources_);
    if (name == "RANK" || name == "--ranks") return sources_.ranks(run, only_live);
    if (name.starts_with("RUN")) {
      CompletedWords all = sources_.runs(only_live);
      for (CompletedWord& rank :
           command_.name == "attach" ? sources_.ranks("", true) : CompletedWords())
        all.push_back(std::move(rank));
      return all;
    }
    if (name == "COMMAND") return command_candidates(groups_);
    if (name == "TOPIC") return topic_candidates(groups_);
    if (name == "SHELL") return words_of({"bash", "zsh", "fish"});
    if (name == "OF") return words_of({"job", "events", "summary", "plan"});
    if (name == "FORMAT") return words_of({"mpirun", "slurm"});
    return {};
  }

  const std::vector<CommandGroup>& groups_;
  const Subcommand& command_;
  const CompletionSources& sources_;
  std::vector<OptionRow> options_;
};

CompletedWords all_for(const std::vector<CommandGroup>& groups, std::vector<std::string> words,
                       const CompletionSources& sources) {
  const std::string first = words.front();
  if (words.size() == 1 && first.starts_with('-')) return words_of({"--help", "--version"});
  if (words.size() == 1) return command_candidates(groups);
  const Subcommand* command = find_command(groups, first);
  if (command == nullptr && !first.starts_with('-')) return {};
  // `dlaunch -n 4 ...` means the first command.
  if (command == nullptr)
    command = &groups.front().commands.front();
  else
    words.erase(words.begin());
  return Completer(groups, *command, sources).complete(words);
}

void add_hosts(std::string_view text,
               const std::function<std::vector<std::string>(const std::string& path)>& included,
               int depth, CompletedWords& hosts) {
  constexpr int kDeepest = 16;  // as OpenSSH (READCONF_MAX_DEPTH in readconf.c)
  while (!text.empty()) {
    const std::vector<std::string_view> words = split_words(take_line(text));
    const std::string keyword = words.empty() ? "" : lower(words.front());
    for (std::size_t i = 1; i < words.size(); ++i) {
      const bool is_plain = words[i].find_first_of("!\"=") == std::string_view::npos;
      const bool is_pattern = words[i].find_first_of("*?") != std::string_view::npos;
      if (keyword == "host" && is_plain && !is_pattern)
        hosts.push_back({std::string(words[i]), ""});
      if (keyword != "include" || !is_plain || depth == kDeepest) continue;
      for (const std::string& file : included(std::string(words[i])))
        add_hosts(file, included, depth + 1, hosts);
    }
  }
}

}  // namespace

std::vector<CompletedWord> complete(const std::vector<CommandGroup>& groups,
                                    std::vector<std::string> words,
                                    const CompletionSources& sources) {
  if (words.empty()) return {};
  const std::string last = words.back();
  if (std::find(words.begin(), words.end() - 1, "--") != words.end() - 1) return {};
  CompletedWords found = all_for(groups, std::move(words), sources);
  std::erase_if(found, [&](const CompletedWord& one) { return !one.text.starts_with(last); });
  return found;
}

std::optional<std::string_view> completion_script(std::string_view shell) {
  for (const auto& [name, script] : kScripts) {
    if (name == shell) return script;
  }
  return std::nullopt;
}

std::vector<CompletedWord> hosts_in_ssh_config(
    std::string_view text,
    const std::function<std::vector<std::string>(const std::string& path)>& included) {
  CompletedWords hosts;
  add_hosts(text, included, 0, hosts);
  return hosts;
}

}  // namespace dlaunch
