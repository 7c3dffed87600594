#include "jobfile/launch_lines/draft_source.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "jobfile/dialects/started_programs.h"
#include "jobfile/shell_quote.h"
#include "jobfile/source.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

using Words = std::vector<std::string>;

const VariableValue kNoValues = [](std::string_view) { return std::nullopt; };

bool is_shell_script(const FoundFile& file) {
  constexpr std::array<std::string_view, 8> kEnds{".sh",    ".bash", ".sbatch", ".slurm",
                                                  ".batch", ".job",  ".sub",    ".run"};
  const bool has_name = std::any_of(kEnds.begin(), kEnds.end(),
                                    [&](std::string_view end) { return file.name.ends_with(end); });
  return has_name || (file.text.starts_with("#!") && first_line(file.text).ends_with("sh"));
}

bool is_dockerfile(std::string_view name) {
  return name.starts_with("Dockerfile") || name.starts_with("Containerfile");
}

/// Files whose names contain an earlier one of these words come first: "train.sh" before "main.sh".
constexpr std::array<std::string_view, 7> kNames{"train", "finetune", "main", "launch",
                                                 "run",   "start",    "app"};

std::size_t order_of(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (name.find(kNames[i]) != std::string_view::npos) return i;
  return kNames.size();
}

LaunchLine as_line(const ShellCommand& words) {
  LaunchLine line;
  for (const ShellWord& word : words) line.program.push_back(expanded(word.spelled, kNoValues));
  return line;
}

LaunchScript as_script(LaunchLine line) {
  LaunchScript script;
  script.line = std::move(line);
  return script;
}

/// The words of ["a", "b"].
Words exec_form(std::string_view text) {
  Words words;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    std::string word;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      word += text[at];
    }
    words.push_back(std::move(word));
  }
  return words;
}

/// The last CMD or ENTRYPOINT of a Dockerfile.
struct DockerWord {
  std::string text;
  std::size_t line = 0;  // from 1; 0: there is none
};

DockerWord docker_word(std::string_view file, std::string_view keyword) {
  DockerWord found;
  std::size_t number = 0;
  while (!file.empty()) {
    const std::size_t begin = ++number;
    std::string line(trimmed(take_line(file)));
    while (line.ends_with('\\') && !file.empty()) {
      line.pop_back();
      line += trimmed(take_line(file));
      ++number;
    }
    if (upper(line.substr(0, keyword.size())) != keyword || line.size() == keyword.size()) continue;
    const char next = line[keyword.size()];
    if (next == ' ' || next == '\t' || next == '[')
      found = {std::string(trimmed(std::string_view(line).substr(keyword.size()))), begin};
  }
  return found;
}

/// If ENTRYPOINT is a list, CMD holds its arguments.
std::optional<DraftSource> of_dockerfile(const FoundFile& file) {
  const DockerWord entry = docker_word(file.text, "ENTRYPOINT");
  const DockerWord command = docker_word(file.text, "CMD");
  const DockerWord& first = entry.line > 0 ? entry : command;
  std::string text = first.text;
  if (text.starts_with('[')) {
    Words words = exec_form(text);
    const Words more =
        entry.line > 0 && command.text.starts_with('[') ? exec_form(command.text) : Words{};
    words.insert(words.end(), more.begin(), more.end());
    text = shell_line(words);
  }
  for (const ShellCommand& words : started_shell_commands(text)) {
    auto launch = read_launch_line(words, kNoValues);
    const bool is_program = !launch && words.size() > 1 && words[0].text.starts_with("python");
    if (is_program) launch = as_line(words);
    if (launch && !launch->program.empty())
      return DraftSource{file.name + ':' + std::to_string(first.line),
                         as_script(std::move(*launch)), false};
  }
  return std::nullopt;
}

bool is_python(const FoundFile& file) {
  return file.name.ends_with(".py");
}

/// Whether the file is a script that can be run as a program, or is named like one.
bool is_program(const FoundFile& file) {
  const bool is_other = file.name == "setup.py" || file.name == "conftest.py" ||
                        file.name.starts_with("test_") || file.name.starts_with("__");
  return is_python(file) && !is_other &&
         (order_of(file.name) < kNames.size() || file.text.find("__main__") != std::string::npos);
}

void add_programs(const DraftInput& input, std::vector<DraftSource>& sources) {
  std::vector<std::string> names;
  for (const FoundFile& file : input.files)
    if (input.only.empty() ? is_program(file) : file.name == input.only && is_python(file))
      names.push_back(file.name);
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return std::pair(order_of(a), a) < std::pair(order_of(b), b);
  });
  for (const std::string& name : names)
    sources.push_back({name, as_script(as_line(literal_words({"python3", name}))), true});
}

/// Whether the text has "import torch" or "from torch import ...".
bool imports(std::string_view text, std::string_view module) {
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = trimmed(take_line(rest));
    for (const std::string_view word : {"import ", "from "}) {
      if (!line.starts_with(word)) continue;
      const std::string_view name = line.substr(word.size());
      const char next = name.size() > module.size() ? name[module.size()] : ' ';
      if (name.starts_with(module) && !is_letter_or_digit(next) && next != '_') return true;
    }
  }
  return false;
}

}  // namespace

const FoundFile* file_named(const DraftInput& input, std::string_view name) {
  const auto found = std::find_if(input.files.begin(), input.files.end(),
                                  [&](const FoundFile& one) { return one.name == name; });
  return found == input.files.end() ? nullptr : &*found;
}

bool is_draft_source(std::string_view name) {
  constexpr std::array<std::string_view, 4> kOthers{"requirements.txt", "pyproject.toml",
                                                    "environment.yml", "environment.yaml"};
  return is_dockerfile(name) || contains(kOthers, name) || name.ends_with(".py") ||
         is_shell_script({std::string(name), ""});
}

std::vector<DraftSource> draft_sources(const DraftInput& input) {
  const auto is_asked = [&](const FoundFile& file) {
    return (input.only.empty() || file.name == input.only) && check_text(file.text).empty();
  };
  std::vector<DraftSource> sources;
  if (!input.command.empty()) {
    const ShellCommand words = literal_words(input.command);
    auto line = read_launch_line(words, kNoValues);
    if (!line) line = as_line(words);
    if (line->program.empty()) return {};
    return {{"the command line", as_script(std::move(*line)), false}};
  }
  for (const FoundFile& file : input.files) {
    const bool is_script = input.only.empty() ? is_shell_script(file) : !is_python(file);
    if (!is_asked(file) || !is_script) continue;
    LaunchScript script = read_launch_script(file.text);
    if (!script.line || script.line->program.empty()) continue;
    const std::string where = file.name + ':' + std::to_string(script.line_number);
    sources.push_back({where, std::move(script), false});
  }
  const auto rank = [](const DraftSource& one) {
    return std::tuple(one.script.line->launcher.empty(), !one.script.is_batch, order_of(one.where));
  };
  std::stable_sort(sources.begin(), sources.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  for (const FoundFile& file : input.files) {
    if (!is_asked(file) || !is_dockerfile(file.name)) continue;
    if (auto found = of_dockerfile(file)) sources.push_back(std::move(*found));
  }
  add_programs(input, sources);
  return sources;
}

FrameworkFound framework_of(const DraftInput& input, const LaunchLine& line) {
  const auto starts = [&](std::string_view name) {
    return line.launcher.find(name) != std::string::npos;
  };
  if (starts("deepspeed")) return {"deepspeed", "those of deepspeed"};
  if (starts("horovodrun")) return {"horovod", "those of horovodrun"};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kImports{
      {{"horovod", "horovod"},
       {"mpi4py", "mpi"},
       {"deepspeed", "deepspeed"},
       {"tensorflow", "tensorflow"},
       {"jax", "jax"},
       {"torch", ""}}};
  for (const std::string& word : program_words(line)) {
    const FoundFile* script = file_named(input, word);
    if (script == nullptr || !word.ends_with(".py")) continue;
    for (const auto& [module, framework] : kImports) {
      if (imports(script->text, module))
        return {std::string(framework), script->name + " imports " + std::string(module)};
    }
  }
  const bool is_mpi = starts("mpirun") || starts("mpiexec") || starts("orterun");
  return is_mpi ? FrameworkFound{"mpi", "those of " + line.launcher} : FrameworkFound{};
}

}  // namespace dlaunch::jobfile
