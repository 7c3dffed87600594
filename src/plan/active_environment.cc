#include "plan/active_environment.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "plan/command.h"
#include "plan/prerequisites.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kSeparators = ";&|()`{}\n";  // a command may begin after each of these
constexpr std::string_view kQuotes = "\"'$<>!";

struct ShellWord {
  std::string_view text;
  bool begins_command = false;
};

/// Good enough to find names. It ignores quoting, so quoted text also yields words.
std::vector<ShellWord> shell_words(std::string_view text) {
  std::vector<ShellWord> words;
  bool begins = true;
  bool in_comment = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool separates = kSeparators.find(c) != std::string_view::npos;
    const bool after_blank =
        at > 0 && (kBlanks.find(text[at - 1]) != std::string_view::npos || text[at - 1] == '\n');
    in_comment = c != '\n' && (in_comment || (c == '#' && after_blank));
    if (in_comment || separates || kBlanks.find(c) != std::string_view::npos ||
        kQuotes.find(c) != std::string_view::npos) {
      begins = begins || (separates && !in_comment);
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && kSeparators.find(text[end]) == std::string_view::npos &&
           kBlanks.find(text[end]) == std::string_view::npos &&
           kQuotes.find(text[end]) == std::string_view::npos)
      ++end;
    words.push_back({text.substr(at, end - at), begins});
    begins = false;
    at = end;
  }
  return words;
}

/// Words that precede a command.
bool goes_before_command(std::string_view word) {
  constexpr std::array<std::string_view, 12> kWords = {"exec", "time",  "nice",  "nohup",
                                                       "env",  "if",    "then",  "else",
                                                       "do",   "while", "until", "command"};
  return word.find('=') != std::string_view::npos || contains(kWords, word);
}

bool is_in_list(std::string_view list, const std::string& entry) {
  return (':' + std::string(list) + ':').find(':' + entry + ':') != std::string::npos;
}

class Uses {
 public:
  Uses(const std::vector<ActiveEnvironment>& environments, const LauncherFiles& files)
      : environments_(environments), files_(files) {}

  /// Adds the program if an environment contains it.
  void add(const std::string& program, const std::optional<std::string>& search_path,
           const std::string& inherited) {
    for (const ActiveEnvironment& environment : environments_) {
      // Search the environment first: most words name none of its programs.
      if (files_.find_program(program, environment.folder + "/bin").empty()) continue;
      const std::string path = files_.find_program(program, search_path.value_or(inherited));
      if (!path.starts_with(environment.folder + '/')) continue;
      EnvironmentUse use{environment, program, search_path, path};
      if (!contains(uses_, use)) uses_.push_back(std::move(use));
      return;
    }
  }
  [[nodiscard]] std::vector<EnvironmentUse> take() { return std::move(uses_); }

 private:
  const std::vector<ActiveEnvironment>& environments_;
  const LauncherFiles& files_;
  std::vector<EnvironmentUse> uses_;
};

/// The programs that a command names; none if the command selects its environment itself.
std::vector<std::string> programs_of(const Command& command, const LauncherFiles& files) {
  std::string text = command.line;
  if (!command.is_shell) {
    for (const std::string& word : command.argv) text += (text.empty() ? "" : " ") + word;
    // Only the first word of a list begins a command.
    std::replace_if(
        text.begin(), text.end(),
        [](char c) { return kSeparators.find(c) != std::string_view::npos; }, ' ');
  }
  if (chooses_environment(text)) return {};
  std::vector<std::string> programs = programs_in(text);
  std::vector<std::string> words;
  for (const ShellWord& word : shell_words(text)) words.emplace_back(word.text);
  auto script = shell_script(words);
  if (!script && !words.empty() && words.front().find('/') != std::string::npos)
    script = words.front();
  const auto shell_text = script ? files.read_file(*script) : std::nullopt;
  if (!shell_text || shell_text->find('\0') != std::string::npos) return programs;
  if (chooses_environment(*shell_text)) return {};
  const std::vector<std::string> more = programs_in(*shell_text);
  programs.insert(programs.end(), more.begin(), more.end());
  return programs;
}

}  // namespace

std::vector<std::string> programs_in(std::string_view shell_text) {
  std::vector<std::string> programs;
  bool begins = true;
  for (const ShellWord& word : shell_words(shell_text)) {
    begins = begins || word.begins_command;
    if (begins && goes_before_command(word.text)) continue;
    const bool activates = file_name(word.text) == "activate";
    if (begins || activates || is_python(word.text)) programs.emplace_back(word.text);
    begins = false;
  }
  return programs;
}

bool chooses_environment(std::string_view shell_text) {
  // Programs that run others in their own environment, or change ours.
  constexpr std::array<std::string_view, 19> kChoosers = {
      "activate",   "apptainer",   "conda",  "docker", "enroot", "hatch", "mamba",
      "micromamba", "ml",          "module", "pdm",    "pipenv", "pixi",  "podman",
      "poetry",     "singularity", "spack",  "uv",     "uvx"};
  bool begins = true;
  for (const ShellWord& word : shell_words(shell_text)) {
    begins = begins || word.begins_command;
    const std::string_view name = file_name(word.text);
    if (word.text.starts_with("PATH=") || name == "activate") return true;
    if (begins && contains(kChoosers, name)) return true;
    begins = begins && goes_before_command(word.text);
  }
  return false;
}

std::vector<ActiveEnvironment> active_environments(const LaunchPlan& plan,
                                                   const LauncherFiles& files) {
  constexpr std::array<std::pair<std::string_view, const char*>, 2> kKinds = {
      {{"VIRTUAL_ENV", "virtual environment"}, {"CONDA_PREFIX", "conda environment"}}};
  std::vector<ActiveEnvironment> active;
  const std::string path = find_variable(plan.carried, "PATH").value_or("");
  for (const auto& [variable, kind] : kKinds) {
    const std::string value = find_variable(plan.carried, variable).value_or("");
    const std::string folder = value.substr(0, value.find_last_not_of('/') + 1);
    if (!folder.starts_with('/') || !is_in_list(path, folder + "/bin") || !files.is_folder(folder))
      continue;
    const auto config = files.read_file(folder + "/pyvenv.cfg");
    const bool by_uv = config && ('\n' + *config).find("\nuv =") != std::string::npos;
    std::string project = folder.substr(0, folder.rfind('/'));
    if (!by_uv || !files.read_file(project + "/pyproject.toml")) project.clear();
    active.push_back({kind, folder, by_uv, std::move(project)});
  }
  return active;
}

std::vector<EnvironmentUse> environment_uses(const JobSpec& spec, const LaunchPlan& plan,
                                             NodeRank node,
                                             const std::vector<ActiveEnvironment>& environments,
                                             const LauncherFiles& files) {
  if (environments.empty() || chooses_environment(spec.setup)) return {};
  Uses uses(environments, files);
  const std::string inherited = find_variable(plan.carried, "PATH").value_or("");
  for (const Rank r : ranks_of_each_kind(plan, node)) {
    const RankPlan& rank = plan.ranks[r.value];
    const auto search_path = path_set_for(plan, rank);
    for (const std::string& program : programs_of(command_of(spec, rank), files))
      uses.add(program, search_path, inherited);
    for (const std::string& program : programs_in(spec.setup))
      uses.add(program, search_path, inherited);
  }
  return uses.take();
}

}  // namespace dlaunch
