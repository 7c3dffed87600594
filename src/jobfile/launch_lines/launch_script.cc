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

class ScriptReader {
 public:
  explicit ScriptReader(std::string_view text) : text_(text) {}

  LaunchScript read() {
    for (std::string_view rest = text_; !rest.empty();) read_line(take_whole_line(rest));
    script_.batch.settle();
    set_slurm_variables();
    const VariableValue value_of = [this](std::string_view name) { return value(name); };
    for (const Words& words : started_commands(text_)) {
      script_.line = read_launch_line(words, value_of);
      if (!script_.line) continue;
      find_line_number(file_name(words.front()));
      break;
    }
    return std::move(script_);
  }

 private:
  [[nodiscard]] std::optional<std::string> value(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  }

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
    if (words.empty()) return;
    const std::string name = option_name(words.front());
    const auto equals = words.front().find('=');
    std::string value;
    if (equals != std::string::npos) {
      value = words.front().substr(equals + 1);
    } else if (words.size() > 1) {
      value = words[1];
    }
    const bool is_output = name == "output" || name == "o" || name == "error" || name == "e";
    if (is_output) return;  // dlaunch keeps the output of every rank
    if (name == "gpus-per-node" || name == "gres" || name == "gpus" || name == "G")
      gpus_ = value.substr(value.rfind(':') + 1);
    if (name == "cpus-per-task" || name == "c") cpus_ = value;
    const LauncherOption* option = find_launcher_option(name, launcher::kSrun);
    const std::string typed = joined(words, " ");
    if (option == nullptr) {
      script_.batch.left_out.push_back(
          {typed, "an option of sbatch; dlaunch submit --sbatch=" + words.front()});
    } else if (option->becomes != Becomes::advice) {
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

  void find_line_number(std::string_view program) {
    std::size_t number = 0;
    for (std::string_view rest = text_; !rest.empty();) {
      ++number;
      const std::string_view line = trimmed(take_line(rest));
      if (line.starts_with('#') || line.find(program) == std::string_view::npos) continue;
      script_.line_number = number;
      return;
    }
  }

  std::string_view text_;
  LaunchScript script_;
  std::map<std::string, std::string, std::less<>> variables_;
  std::string gpus_;
  std::string cpus_;
};

}  // namespace

LaunchScript read_launch_script(std::string_view text) {
  return ScriptReader(text).read();
}

}  // namespace dlaunch::jobfile
