#include "jobfile/launch_lines/script_words.h"

#include <algorithm>
#include <array>

#include "jobfile/launch_lines/shell_text.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

bool is_sure(const ShellCommand& command) {
  constexpr std::array<std::string_view, 8> kSure{"cd",   "mkdir", "echo",  "set",
                                                  "true", ":",     "shopt", "export"};
  const std::string& word = command.front().text;
  return contains(kSure, word) || declares(word) || is_assignment(word) ||
         prepares_shell(word, joined(command, " ", &ShellWord::spelled));
}

bool can_be_split(std::string_view text) {
  const auto parts = split_words(text);
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return std::count(part.begin(), part.end(), '{') == std::count(part.begin(), part.end(), '}');
  });
}

bool only_looks(const LaunchLine& line) {
  constexpr std::array<std::string_view, 16> kPrograms{
      "hostname", "nvidia-smi", "echo", "mkdir", "cp",   "rsync", "tar",  "pip",
      "ls",       "df",         "env",  "rm",    "date", "sleep", "free", "printenv"};
  if (line.program.empty()) return true;
  const std::string_view program = file_name(line.program.front().text);
  return contains(kPrograms, program) && (program != "env" || line.program.size() == 1);
}

bool runs_program(const ShellCommand& words) {
  return words.size() > 1 && file_name(words.front().text).starts_with("python") &&
         words[1].text.ends_with(".py") && file_name(words[1].text) != "setup.py";
}

std::string spelled_line(const ShellCommand& command) {
  return joined(command, " ", &ShellWord::spelled);
}

}  // namespace dlaunch::jobfile
