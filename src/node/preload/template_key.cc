#include "node/preload/template_key.h"

#include <algorithm>
#include <array>

#include "os/proc_file.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

std::vector<std::string_view> terminated_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) words.push_back(take_until(text, '\0'));
  return words;
}

/// The lines of the status file that a fork inherits and a program may see. The file's pids, times
/// and sizes differ anyway.
std::string inherited_state(std::string_view status) {
  constexpr std::array<std::string_view, 16> kInherited = {
      "Name:",   "Umask:",  "Uid:",    "Gid:",    "Groups:", "SigBlk:",     "SigIgn:",  "SigCgt:",
      "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:", "Seccomp:", "THP_enabled:"};
  std::string kept;
  while (!status.empty()) {
    const std::string_view line = take_until(status, '\n');
    const bool is_kept = std::any_of(kInherited.begin(), kInherited.end(),
                                     [&](std::string_view name) { return line.starts_with(name); });
    if (is_kept) kept.append(line).append("\n");
  }
  return kept;
}

/// The second word of the first line of numa_maps(5): "7f0000000000 bind:0 file=...".
std::string_view policy_of(std::string_view maps) {
  (void)take_until(maps, ' ');
  return take_until(maps, ' ');
}

}  // namespace

std::optional<TemplateKey> template_key(const ProcessTexts& process, std::size_t arguments,
                                        const std::function<bool(std::string_view)>& is_own) {
  const auto words = terminated_words(process.command_line);
  // sys.argv begins with the script, or with -m or -c for a module or command (sys.argv in the
  // library reference).
  if (arguments == 0 || words.size() < arguments + 1) return std::nullopt;
  const std::size_t shared = words.size() - arguments + 1;
  TemplateKey key;
  key.target = words[shared - 1];
  if (key.target.empty() || key.target == "-") return std::nullopt;
  const auto add = [&](std::string_view text) { key.text.append(text).append(1, '\0'); };
  for (std::size_t i = 0; i < shared; ++i) add(words[i]);
  add(process.program);
  add(process.folder);
  std::vector<std::string_view> variables = terminated_words(process.environment);
  std::sort(variables.begin(), variables.end());
  for (const std::string_view entry : variables) {
    const std::string_view name = entry.substr(0, entry.find('='));
    if (is_own(name))
      key.dropped.emplace_back(name);
    else
      add(entry);
  }
  add(process.limits);
  add(inherited_state(process.status));
  constexpr int kNice = 19;
  constexpr int kRealTimePriority = 40;
  constexpr int kSchedulingPolicy = 41;
  for (const int field : {kNice, kRealTimePriority, kSchedulingPolicy})
    add(stat_field(process.stat, field));
  add(policy_of(process.memory_policy));
  add(process.namespaces);
  return key;
}

bool is_named_in(const std::vector<std::string>& argv, std::string_view target) {
  const std::string_view name = file_name(target);
  return std::any_of(argv.begin(), argv.end(), [&](const std::string& word) {
    return word.find(name) != std::string::npos;
  });
}

}  // namespace dlaunch
