#include "jobfile/launch_lines/launch_line.h"

#include <algorithm>
#include <utility>

#include "jobfile/dialects/started_programs.h"
#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

/// Limit of nested launchers: srun may start torchrun, directly or by bash -c.
constexpr int kMostLaunchers = 3;

struct Launcher {
  std::string name;
  Launchers options;  // the launchers whose options it accepts
  bool runs_python;   // its program is a Python script
  std::size_t words;  // its own words, before its options
};

std::optional<Launcher> launcher_of(const Words& words) {
  using namespace launcher;
  if (words.empty()) return std::nullopt;
  if (auto worker = worker_launcher(words)) {
    const bool is_accelerate = worker->name.starts_with("accelerate");
    const Launchers options = is_accelerate                 ? launcher::kAccelerate
                              : worker->name == "deepspeed" ? kDeepspeed
                                                            : kTorchrun;
    return Launcher{worker->name, options, true, words.size() - worker->arguments.size()};
  }
  const std::string name(file_name(words.front()));
  if (name == "torchx") {
    const auto component = std::find(words.begin(), words.end(), "dist.ddp");
    if (component == words.end()) return std::nullopt;
    const auto own = static_cast<std::size_t>(component - words.begin()) + 1;
    return Launcher{"torchx", kTorchx, true, own};
  }
  if (name == "srun") return Launcher{name, kSrun, false, 1};
  if (name == "horovodrun") return Launcher{name, kMpi, false, 1};
  if (name == "mpiexec.hydra") return Launcher{name, kHydra, false, 1};
  if (name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "prterun")
    return Launcher{name, kOpenMpi | kHydra, false, 1};
  return std::nullopt;
}

class LaunchLineReader {
 public:
  LaunchLineReader(Launcher launcher, std::vector<ExpandedWord> words)
      : launcher_(std::move(launcher)), words_(std::move(words)), at_(launcher_.words) {}

  LaunchLine read() {
    while (at_ < words_.size() && !could_be_value(word()) && word() != "--") read_option();
    if (launcher_.options == launcher::kTorchx && own_.per_node.empty()) own_.per_node = "2";
    if (at_ < words_.size() && word() == "--") ++at_;
    LaunchLine line{launcher_.name, std::move(own_), {}};
    if (const std::string& script = line.options.script; !script.empty())
      line.program.push_back({script, shell_quote(script), true});
    for (; at_ < words_.size() && word() != ":"; ++at_) line.program.push_back(words_[at_]);
    if (at_ < words_.size())
      line.options.left_out.push_back(
          {":", "dlaunch starts one program; for others use roles: dlaunch help roles"});
    if (launcher_.runs_python && !line.program.empty()) add_python(line);
    return line;
  }

 private:
  [[nodiscard]] const std::string& word() const { return words_[at_].text; }

  void read_option() {
    bool is_known = words_[at_].is_known;
    const std::string word = words_[at_++].text;
    const std::string name = option_name(word);
    Words values;
    if (const auto equals = word.find('='); equals != std::string::npos)
      values.push_back(word.substr(equals + 1));
    const LauncherOption* option = find_launcher_option(name, launcher_.options);
    const bool has_number = option == nullptr && word.size() > 2 && word[1] != '-';
    if (has_number) {  // "-N2"
      option = find_launcher_option(word.substr(1, 1), launcher_.options);
      if (option != nullptr) values = {word.substr(2)};
    }
    const std::size_t wanted = option != nullptr ? static_cast<std::size_t>(option->values)
                               : takes_next()    ? 1
                                                 : 0;
    std::string typed = word;
    while (values.size() < wanted && at_ < words_.size() && could_be_value(this->word())) {
      is_known = is_known && words_[at_].is_known;
      values.push_back(words_[at_++].text);
      typed += ' ' + values.back();
    }
    if (option == nullptr) {
      own_.left_out.push_back({typed, "not known to dlaunch"});
    } else if (values.size() < wanted) {
      own_.left_out.push_back({typed, "needs a value"});
    } else if (counts_value(*option) && !is_known) {
      leave_out_unknown(*option, typed);
    } else {
      is_bare_ = is_bare_ || name == "no-python";
      own_.add(*option, typed, values);
    }
  }

  /// Whether the word after an unknown option is more likely its value than the program.
  [[nodiscard]] bool takes_next() const {
    return words_[at_ - 1].text.find('=') == std::string::npos && at_ + 1 < words_.size() &&
           !word().starts_with('-') && !word().ends_with(".py");
  }

  /// Whether the option's value matters. Some options are left out, or change nothing, whatever
  /// their value is.
  static bool counts_value(const LauncherOption& option) {
    return !is_advice(option.becomes) && option.becomes != Becomes::nothing;
  }

  /// Leaves out an option whose value is known only to the script. If the script computes the
  /// number of processes per node, there are most likely GPUs, so this assumes one process per GPU.
  void leave_out_unknown(const LauncherOption& option, const std::string& typed) {
    const bool is_per_node = option.becomes == Becomes::per_node;
    if (is_per_node) own_.per_node = "gpu";
    own_.left_out.push_back(
        {typed, is_per_node ? "known only when the script runs; a process for each GPU is assumed"
                            : "known only when the script runs"});
  }

  void add_python(LaunchLine& line) const {
    const bool is_module = line.options.is_module;
    const bool is_script = line.program.front().text.ends_with(".py");
    if (!is_module && !is_script && is_bare_) return;
    if (is_module) line.program.insert(line.program.begin(), {"-m", "-m", true});
    line.program.insert(line.program.begin(), {"python3", "python3", true});
  }

  Launcher launcher_;
  std::vector<ExpandedWord> words_;
  std::size_t at_;
  OwnOptions own_;
  bool is_bare_ = false;  // --no-python
};

/// If a launcher starts another one on each node, the process counts of the inner launcher apply.
void add_inner(LaunchLine& outer, LaunchLine inner) {
  outer.launcher += ", " + inner.launcher;
  outer.program = std::move(inner.program);
  OwnOptions& out = outer.options;
  OwnOptions& in = inner.options;
  out.total = in.total;
  out.per_node = in.per_node;
  if (out.nodes.empty()) out.nodes = in.nodes;
  const auto append = [](auto& to, auto& more) { to.insert(to.end(), more.begin(), more.end()); };
  append(out.settings, in.settings);
  append(out.passed, in.passed);
  append(out.left_out, in.left_out);
  append(out.advised, in.advised);
  if (out.file.empty()) out.file = in.file;
}

std::optional<LaunchLine> read_line(const ShellCommand& command, const VariableValue& value_of,
                                    int depth) {
  std::vector<ExpandedWord> words;
  for (const ShellWord& word : command) {
    ExpandedWord read = expanded(word.spelled, value_of);
    if (!read.spelled.empty()) words.push_back(std::move(read));  // else: empty variable
  }
  auto launcher = launcher_of(texts_of(command));
  if (!launcher) return std::nullopt;
  LaunchLine line = LaunchLineReader(std::move(*launcher), std::move(words)).read();
  if (depth == kMostLaunchers || line.program.empty()) return line;
  // started_shell_commands() finds the program behind env, bash -c and the like.
  const std::size_t size = line.program.size();
  std::vector<ShellCommand> inside;
  if (size > 2 && line.program[size - 2].text.ends_with("c")) {
    inside = started_shell_commands(line.program.back().text);
  } else {
    inside.emplace_back();
    for (const ExpandedWord& word : line.program)
      inside.front().push_back({word.text, word.spelled});
  }
  for (const ShellCommand& started : inside) {
    auto inner = read_line(started, value_of, depth + 1);
    if (!inner) continue;
    add_inner(line, std::move(*inner));
    break;
  }
  return line;
}

}  // namespace

std::vector<std::string> program_words(const LaunchLine& line) {
  Words words;
  for (const ExpandedWord& word : line.program) words.push_back(word.text);
  return words;
}

std::optional<LaunchLine> read_launch_line(const ShellCommand& command,
                                           const VariableValue& value_of) {
  auto line = read_line(command, value_of, 0);
  if (line) line->options.settle();
  return line;
}

}  // namespace dlaunch::jobfile
