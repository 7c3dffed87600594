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
    "Completes commands, options, hosts from ~/.ssh/config, run ids, ranks, and keys of\n"
    "the job file after --set. The dlaunch packages install these scripts.";

std::vector<CompletedWord> ssh_hosts() {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  const char* const home = std::getenv("HOME");
  const std::string path = std::string(home != nullptr ? home : "") + "/.ssh/config";
  if (!is_regular_file(path)) return {};
  return hosts_in_ssh_config(read_bounded_file(path, "file", kMostBytes).value_or(""));
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
