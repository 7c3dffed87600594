#include <glob.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/print.h"
#include "os/bounded_file.h"
#include "os/files.h"
#include "runs/run_index.h"

namespace dlaunch {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  source <(dlaunch completion bash)       in ~/.bashrc\n"
    "  source <(dlaunch completion zsh)        in ~/.zshrc, after compinit\n"
    "  dlaunch completion fish | source        in ~/.config/fish/config.fish\n"
    "\n"
    "Completes commands, options, hosts from ~/.ssh/config and the files that it includes,\n"
    "run ids, ranks, and keys of the job file after --set. The dlaunch packages install\n"
    "these scripts.";

/// Files that the user's ssh reads, below a total size: a file may include itself.
class SshConfigFiles {
 public:
  explicit SshConfigFiles(std::string home) : home_(std::move(home)) {}

  std::string read(const std::string& path) {
    if (!is_regular_file(path)) return "";
    std::string text = read_bounded_file(path, "file", left_).value_or("");
    left_ -= std::min(left_, text.size() + kLeast);
    return text;
  }

  /// As Include (ssh_config(5)): a pattern of glob(7), relative to ~/.ssh.
  std::vector<std::string> included(const std::string& pattern) {
    const std::string path = pattern.starts_with("~/")  ? home_ + pattern.substr(1)
                             : pattern.starts_with('/') ? pattern
                                                        : home_ + "/.ssh/" + pattern;
    glob_t matches{};
    std::vector<std::string> texts;
    if (glob(path.c_str(), 0, nullptr, &matches) == 0) {
      for (std::size_t i = 0; i < matches.gl_pathc && left_ > 0; ++i)
        texts.push_back(read(matches.gl_pathv[i]));
    }
    globfree(&matches);
    return texts;
  }

 private:
  static constexpr std::size_t kLeast = std::size_t{4} << 10U;  // of each file, for the total
  std::string home_;
  std::size_t left_ = std::size_t{1} << 20U;
};

std::vector<CompletedWord> ssh_hosts() {
  const char* const home = std::getenv("HOME");
  const std::string folder = home != nullptr ? home : "";
  SshConfigFiles files(folder);
  return hosts_in_ssh_config(files.read(folder + "/.ssh/config"),
                             [&](const std::string& pattern) { return files.included(pattern); });
}

std::vector<CompletedWord> runs_here(bool only_live) {
  constexpr std::size_t kMost = 50;
  const auto folders = run_folders("");
  if (!folders) return {};
  std::vector<CompletedWord> found;
  for (const RunView& run :
       list_runs(*folders, kMost, only_live ? RunsWanted::not_ended : RunsWanted::all).runs)
    found.push_back(
        {run.id, run.name.empty() ? name_of(run.state) : run.name + ", " + name_of(run.state)});
  return found;
}

std::vector<CompletedWord> ranks_of(const std::string& run, bool only_live) {
  constexpr std::uint32_t kMost = 64;
  const auto folders = run_folders("");
  if (!folders) return {};
  const auto view =
      run.empty() && only_live ? only_live_run(*folders, "") : find_run(*folders, run);
  std::vector<CompletedWord> found;
  for (std::uint32_t i = 0; view && i < std::min(view->ranks.value_or(0), kMost); ++i)
    found.push_back({std::to_string(i), "rank of " + view->id});
  return found;
}

}  // namespace

Subcommand completion_command() {
  auto shell = std::make_shared<std::string>();
  const auto describe = [shell](CommandOptions options) {
    options.positional("SHELL", *shell, "bash, zsh or fish");
  };
  const auto execute = [shell] {
    if (const auto script = completion_script(*shell)) return print_text(std::string(*script));
    const std::string mistake =
        shell->empty() ? "which shell?"
                       : "no completion for \"" + *shell + "\", only for bash, zsh and fish";
    return print_error({exit_code::kUsage, mistake + "\n         try: dlaunch completion bash"});
  };
  return {"completion", "Print a script that completes dlaunch commands in a shell", kFooter,
          describe, execute};
}

int complete_command(const std::vector<CommandGroup>& groups,
                     const std::vector<std::string>& words) {
  std::string text;
  for (const CompletedWord& one : complete(groups, words, {ssh_hosts, runs_here, ranks_of}))
    text += one.text + '\t' + one.help + '\n';
  return print_text(text);
}

}  // namespace dlaunch
