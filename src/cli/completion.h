// Completions for shells: a script for each shell asks dlaunch at every Tab. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace dlaunch {

struct CompletedWord {
  std::string text;  // the whole word
  std::string help;  // one line; may be empty
};

/// Sources of words that only this machine knows. Each is called only if its words are possible at
/// the cursor.
struct CompletionSources {
  std::function<std::vector<CompletedWord>()> hosts;
  std::function<std::vector<CompletedWord>(bool only_live)> runs;
  /// The ranks of a run, given as on the command line. An empty name means the newest run, or with
  /// only_live the only one that has not ended.
  std::function<std::vector<CompletedWord>(const std::string& run, bool only_live)> ranks;
};

/// The words that are possible at the cursor. `words`: those after "dlaunch", up to the one at the
/// cursor, which may be empty. If there are none, the shell completes file names.
[[nodiscard]] std::vector<CompletedWord> complete(const std::vector<CommandGroup>& groups,
                                                  std::vector<std::string> words,
                                                  const CompletionSources& sources);

/// The script for bash, zsh or fish; nullopt: not one of these.
[[nodiscard]] std::optional<std::string_view> completion_script(std::string_view shell);

/// The hosts of an OpenSSH configuration (ssh_config(5), Host), without patterns. `included`: the
/// contents of the files that a path of Include means, which may be a pattern.
[[nodiscard]] std::vector<CompletedWord> hosts_in_ssh_config(
    std::string_view text,
    const std::function<std::vector<std::string>(const std::string& path)>& included);

}  // namespace dlaunch
