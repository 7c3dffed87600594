#include "jobfile/launch_lines/launch_line.h"

#include <algorithm>
#include <utility>

#include "jobfile/dialects/started_programs.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

/// srun starts torchrun, which may be started by bash -c.
constexpr int kMostLaunchers = 3;

struct Launcher {
  std::string name;
  Launchers options;  // whose options it has
  bool runs_python;   // its program is a Python script
  Words arguments;
};

Words from(const Words& words, std::size_t first) {
  return {words.begin() + static_cast<std::ptrdiff_t>(std::min(first, words.size())), words.end()};
}

std::optional<Launcher> launcher_of(const Words& words) {
  using namespace launcher;
  if (words.empty()) return std::nullopt;
  if (auto worker = worker_launcher(words)) {
    const bool is_accelerate = worker->name.starts_with("accelerate");
    const Launchers options = is_accelerate                 ? kAccelerate
                              : worker->name == "deepspeed" ? kDeepspeed
                                                            : kTorchrun;
    return Launcher{worker->name, options, true, std::move(worker->arguments)};
  }
  const std::string name(file_name(words.front()));
  if (name == "srun") return Launcher{name, kSrun, false, from(words, 1)};
  if (name == "horovodrun") return Launcher{name, kMpi, false, from(words, 1)};
  if (name == "mpiexec.hydra") return Launcher{name, kHydra, false, from(words, 1)};
  if (name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "prterun")
    return Launcher{name, kOpenMpi | kHydra, false, from(words, 1)};
  return std::nullopt;
}

class LaunchLineReader {
 public:
  LaunchLineReader(Launcher launcher, const VariableValue& value_of)
      : launcher_(std::move(launcher)), value_of_(value_of) {}

  LaunchLine read() {
    const Words& words = launcher_.arguments;
    std::size_t at = 0;
    while (at < words.size() && words[at].size() > 1 && words[at].front() == '-') {
      if (words[at] == "--") break;
      read_option(words, at);
    }
    if (at < words.size() && words[at] == "--") ++at;
    LaunchLine line{launcher_.name, std::move(own_), {}};
    for (; at < words.size() && words[at] != ":"; ++at)
      line.program.push_back(with_values(words[at], value_of_));
    if (at < words.size())
      line.options.left_out.push_back(
          {":", "dlaunch starts one program; roles have others: dlaunch help roles"});
    if (launcher_.runs_python) add_python(line);
    return line;
  }

 private:
  void read_option(const Words& words, std::size_t& at) {
    const std::string word = with_values(words[at++], value_of_);
    std::string name = option_name(word);
    Words values;
    if (const auto equals = word.find('='); equals != std::string::npos)
      values.push_back(word.substr(equals + 1));
    const LauncherOption* option = find_launcher_option(name, launcher_.options);
    const bool has_number = option == nullptr && word.size() > 2 && word[1] != '-';
    if (has_number) {  // "-N2"
      option = find_launcher_option(word.substr(1, 1), launcher_.options);
      if (option != nullptr) values = {word.substr(2)};
    }
    const std::size_t wanted = option != nullptr       ? static_cast<std::size_t>(option->values)
                               : takes_next(words, at) ? 1
                                                       : 0;
    std::string typed = word;
    while (values.size() < wanted && at < words.size()) {
      values.push_back(with_values(words[at++], value_of_));
      typed += ' ' + values.back();
    }
    if (option == nullptr) {
      own_.left_out.push_back({typed, "not known to dlaunch"});
    } else if (values.size() < wanted || (counts_value(*option) && has_unknown(values))) {
      leave_out_unknown(*option, typed);
    } else {
      is_bare_ = is_bare_ || name == "no-python";
      own_.add(*option, typed, values);
    }
  }

  /// Whether the word after an unknown option is more likely its value than the program.
  [[nodiscard]] static bool takes_next(const Words& words, std::size_t at) {
    return words[at - 1].find('=') == std::string::npos && at + 1 < words.size() &&
           !words[at].starts_with('-') && !words[at].ends_with(".py");
  }

  /// Others are left out, or change nothing, whatever their value is.
  static bool counts_value(const LauncherOption& option) {
    return option.becomes != Becomes::advice && option.becomes != Becomes::nothing;
  }

  static bool has_unknown(const Words& values) {
    return std::any_of(values.begin(), values.end(), has_variable);
  }

  /// Where the script computes a count, there are GPUs in most cases.
  void leave_out_unknown(const LauncherOption& option, const std::string& typed) {
    const bool is_per_node = option.becomes == Becomes::per_node;
    if (is_per_node) own_.per_node = "gpu";
    own_.left_out.push_back(
        {typed, is_per_node ? "known only when the script runs; a process for each GPU is assumed"
                            : "known only when the script runs"});
  }

  void add_python(LaunchLine& line) const {
    const bool is_module = line.options.is_module;
    if (is_module) line.program.insert(line.program.begin(), {"python3", "-m"});
    const bool is_script = !line.program.empty() && line.program.front().ends_with(".py");
    if (!is_module && (is_script || !is_bare_))
      line.program.insert(line.program.begin(), "python3");
  }

  Launcher launcher_;
  const VariableValue& value_of_;
  OwnOptions own_;
  bool is_bare_ = false;  // --no-python
};

/// The launcher that another one starts on each node counts its processes.
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
}

std::optional<LaunchLine> read_line(const Words& words, const VariableValue& value_of, int depth) {
  auto launcher = launcher_of(words);
  if (!launcher) return std::nullopt;
  LaunchLine line = LaunchLineReader(std::move(*launcher), value_of).read();
  if (depth == kMostLaunchers || line.program.empty()) return line;
  // started_commands() looks through env, bash -c and the like.
  const auto inside =
      line.program.size() > 2 && line.program[line.program.size() - 2].ends_with("c")
          ? started_commands(line.program.back())
          : std::vector<Words>{line.program};
  for (const Words& started : inside) {
    auto inner = read_line(started, value_of, depth + 1);
    if (!inner) continue;
    add_inner(line, std::move(*inner));
    break;
  }
  return line;
}

/// One variable at `at`, a "$": its value, and `at` behind it; else the "$" alone.
std::string value_at(std::string_view text, std::size_t& at, const VariableValue& value_of) {
  const std::size_t begin = at++;
  const bool is_braced = at < text.size() && text[at] == '{';
  if (is_braced) ++at;
  const std::size_t name_at = at;
  while (at < text.size() && (is_letter_or_digit(text[at]) || text[at] == '_')) ++at;
  const std::string_view name = text.substr(name_at, at - name_at);
  std::optional<std::string> value = name.empty() ? std::nullopt : value_of(name);
  if (is_braced) {
    const auto end = std::min(text.find('}', at), text.size());
    std::string_view rest = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
    if (rest.starts_with(":-") || rest.starts_with(":=")) {
      if (!value || value->empty()) value = with_values(rest.substr(2), value_of);
    } else if (!rest.empty()) {
      value.reset();  // another expansion: ${#NAME}, ${NAME%x}
    }
  }
  return value ? *value : std::string(text.substr(begin, at - begin));
}

}  // namespace

std::string with_values(std::string_view text, const VariableValue& value_of) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '$') {
      out += value_at(text, at, value_of);
    } else {
      out += text[at++];
    }
  }
  return out;
}

bool has_variable(std::string_view text) {
  return text.find_first_of("$`") != std::string_view::npos;
}

std::optional<LaunchLine> read_launch_line(const Words& words, const VariableValue& value_of) {
  auto line = read_line(words, value_of, 0);
  if (line) line->options.settle();
  return line;
}

}  // namespace dlaunch::jobfile
