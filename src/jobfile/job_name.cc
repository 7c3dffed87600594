#include "jobfile/job_name.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "jobfile/host_name.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::array<std::string_view, 8> kScriptEndings{".py", ".sh", ".bash", ".R",
                                                         ".jl", ".pl", ".rb",   ".lua"};

std::string_view file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// "train" for "src/train.py"; empty if it is not a script.
std::string_view script_stem(std::string_view argument) {
  const std::string_view name = file_name(argument);
  if (argument.starts_with('-')) return {};
  for (const std::string_view ending : kScriptEndings) {
    if (name.size() > ending.size() && name.ends_with(ending))
      return name.substr(0, name.size() - ending.size());
  }
  return {};
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    const auto begin = line.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(" \t\n"), line.size());
    words.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

}  // namespace

std::string name_from_command(const Command& command) {
  const std::vector<std::string> words = command.is_shell ? words_of(command.line) : command.argv;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (const auto stem = script_stem(words[i]); !stem.empty()) return std::string(stem);
    const bool is_module = i > 0 && words[i] == "-m" && i + 1 < words.size();
    if (is_module) return words[i + 1].substr(words[i + 1].rfind('.') + 1);
  }
  return words.empty() ? "" : std::string(file_name(words[0]));
}

std::string name_as_word(std::string_view name) {
  constexpr std::size_t kMost = 64;
  std::string word;
  for (const char c : name) {
    const char kept = is_name_character(c) ? c : '-';
    if (word.empty() && (kept == '-' || kept == '.')) continue;
    if (word.size() < kMost) word += kept;
  }
  return word.empty() ? "dlaunch" : word;
}

}  // namespace dlaunch::jobfile
