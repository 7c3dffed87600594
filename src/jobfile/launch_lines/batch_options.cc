#include "jobfile/launch_lines/batch_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jobfile/launch_lines/launch_script.h"
#include "jobfile/launch_lines/launcher_options.h"
#include "jobfile/scalar.h"
#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

/// A word of a line that begins with #SBATCH, before any comment.
struct DirectiveWord {
  std::string text;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// sbatch splits at blanks outside of quotes; "#" at the beginning of a word ends the line.
std::vector<DirectiveWord> directive_words(std::string_view script, std::size_t at,
                                           std::size_t end) {
  std::vector<DirectiveWord> words;
  while (at < end) {
    if (script[at] == ' ' || script[at] == '\t' || script[at] == '\r') {
      ++at;
      continue;
    }
    if (script[at] == '#') break;
    DirectiveWord word{"", at, at};
    for (char quote = '\0'; at < end; ++at) {
      const char c = script[at];
      if (quote == '\0' && (c == ' ' || c == '\t' || c == '\r')) break;
      const bool is_mark = c == quote || (quote == '\0' && (c == '"' || c == '\''));
      if (!is_mark) word.text += c;
      if (is_mark) quote = quote == '\0' ? c : '\0';
    }
    word.end = at;
    words.push_back(std::move(word));
  }
  return words;
}

void add_options(const std::vector<DirectiveWord>& words, std::vector<BatchOption>& options) {
  for (std::size_t at = 0; at < words.size();) {
    const DirectiveWord& word = words[at++];
    if (word.text == "hetjob" || word.text == "packjob")
      options.push_back({word.text, "", word.text, word.begin, word.end});
    if (!word.text.starts_with('-')) continue;
    const auto equals = word.text.find('=');
    BatchOption one{option_name(word.text),
                    equals == std::string::npos ? "" : word.text.substr(equals + 1), word.text,
                    word.begin, word.end};
    const bool is_attached = !word.text.starts_with("--") && word.text.size() > 2;  // "-N2"
    if (is_attached) {
      one.name = word.text.substr(1, 1);
      one.value = word.text.substr(2);
    } else if (equals == std::string::npos && at < words.size() && could_be_value(words[at].text)) {
      one.value = words[at].text;
      one.typed += ' ' + one.value;
      one.end = words[at++].end;
    }
    options.push_back(std::move(one));
  }
}

}  // namespace

std::vector<BatchOption> batch_options(std::string_view script) {
  constexpr std::string_view kDirective = "#SBATCH";
  std::vector<BatchOption> options;
  for (std::size_t at = 0; at < script.size();) {
    const auto end = std::min(script.find('\n', at), script.size());
    const std::string_view line = script.substr(at, end - at);
    const bool is_command = !trimmed(line).empty() && trimmed(line).front() != '#';
    if (is_command) break;
    if (line.starts_with(kDirective))
      add_options(directive_words(script, at + kDirective.size(), end), options);
    at = end + 1;
  }
  return options;
}

namespace {

class BatchReader {
 public:
  BatchReading read(std::string_view script, bool knows_counts) {
    for (const BatchOption& option : batch_options(script)) add(option);
    out_.options.settle();
    if (out_.is_batch) set_variables(knows_counts);
    return std::move(out_);
  }

 private:
  void add(const BatchOption& given) {
    const auto& [name, value, typed, begin, end] = given;
    out_.is_batch = true;
    constexpr std::array<std::string_view, 4> kOutput{"output", "o", "error", "e"};
    if (contains(kOutput, name)) return;  // dlaunch keeps the output of every rank
    if (name == "gpus-per-node" || name == "gres" || name == "gpus" || name == "G")
      gpus_ = value.substr(value.rfind(':') + 1);
    if (name == "cpus-per-task" || name == "c") cpus_ = value;
    const LauncherOption* option = find_launcher_option(name, launcher::kSrun);
    const bool is_place = option != nullptr && is_advice(option->becomes);
    if (option == nullptr) {
      const std::string whole = name.size() == 1 ? '-' + name + value
                                : value.empty()  ? "--" + name
                                                 : "--" + name + '=' + value;
      out_.options.left_out.push_back(
          {typed, "for sbatch: dlaunch submit --sbatch=" + shell_quote(whole)});
    } else if (!is_place || name.starts_with("container")) {
      out_.options.add(*option, typed,
                       option->values == 0 ? std::vector<std::string>{} : std::vector{value});
    }
  }

  void set(const char* name, const std::string& text) {
    if (!text.empty()) out_.variables.emplace_back(name, text);
  }

  void set_variables(bool knows_counts) {
    const OwnOptions& batch = out_.options;
    const std::string nodes = batch.nodes.empty() ? "1" : batch.nodes;
    set("SLURM_SUBMIT_DIR", ".");
    for (const OwnSetting& one : batch.settings)
      if (one.key == "name") set("SLURM_JOB_NAME", one.value);
    set("SLURM_GPUS_ON_NODE", gpus_);
    set("SLURM_GPUS_PER_NODE", gpus_);
    set("SLURM_CPUS_PER_TASK", cpus_);
    if (!knows_counts) return;
    set("SLURM_NNODES", nodes);
    set("SLURM_JOB_NUM_NODES", nodes);
    set("SLURM_NTASKS_PER_NODE", batch.per_node);
    const auto each = parse_integer(batch.per_node);
    const auto all = parse_integer(nodes);
    set("SLURM_NTASKS", each && all ? std::to_string(*each * *all) : batch.total);
  }

  BatchReading out_;
  std::string gpus_;
  std::string cpus_;
};

}  // namespace

BatchReading read_batch(std::string_view script, bool knows_counts) {
  return BatchReader().read(script, knows_counts);
}

RankCounts counts_of(const LaunchScript& script) {
  const OwnOptions& own = script.line->options;
  const OwnOptions& batch = script.batch;
  const std::string& launcher = script.line->launcher;
  RankCounts counts{own.total, own.per_node, own.nodes.empty() ? batch.nodes : own.nodes};
  const bool is_mpi = launcher == "mpirun" || launcher == "mpiexec" || launcher == "orterun" ||
                      launcher == "prterun" || launcher == "mpiexec.hydra";
  const bool asks_slurm = launcher == "srun" || (is_mpi && script.is_batch);
  if (asks_slurm && counts.total.empty() && counts.per_node.empty()) {
    counts.total = batch.total;
    counts.per_node = batch.per_node.empty() && counts.total.empty() ? "1" : batch.per_node;
  }
  const auto all = parse_integer(counts.total);
  const auto nodes = parse_integer(counts.nodes);
  if (all && nodes && *nodes > 1 && *all % *nodes == 0) {
    counts.per_node = std::to_string(*all / *nodes);
    counts.total.clear();
  }
  return counts;
}

}  // namespace dlaunch::jobfile
