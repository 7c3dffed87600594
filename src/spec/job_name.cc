#include "spec/job_name.h"

#include <array>
#include <string_view>

namespace dlaunch {

namespace {

constexpr std::array<std::string_view, 8> kScriptEndings{".py", ".sh", ".bash", ".R",
                                                         ".jl", ".pl", ".rb",   ".lua"};

std::string_view file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// "train" for "src/train.py"; empty if it is no script.
std::string_view script_stem(std::string_view argument) {
  const std::string_view name = file_name(argument);
  if (argument.starts_with('-')) return {};
  for (const std::string_view ending : kScriptEndings) {
    if (name.size() > ending.size() && name.ends_with(ending))
      return name.substr(0, name.size() - ending.size());
  }
  return {};
}

}  // namespace

std::string name_from_command(const Command& command) {
  if (command.is_shell) {
    const auto begin = command.line.find_first_not_of(" \t\n");
    if (begin == std::string::npos) return "";
    const auto end = command.line.find_first_of(" \t\n;|&", begin);
    return std::string(file_name(std::string_view(command.line).substr(begin, end - begin)));
  }
  for (std::size_t i = 0; i < command.argv.size(); ++i) {
    if (const auto stem = script_stem(command.argv[i]); !stem.empty()) return std::string(stem);
    const bool is_module = i > 0 && command.argv[i] == "-m" && i + 1 < command.argv.size();
    if (is_module) return command.argv[i + 1].substr(command.argv[i + 1].rfind('.') + 1);
  }
  return command.argv.empty() ? "" : std::string(file_name(command.argv[0]));
}

}  // namespace dlaunch
