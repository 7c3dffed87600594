#include "plan/python_command.h"

#include <algorithm>

namespace dlaunch {

namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(std::min(path.rfind('/') + 1, path.size()));
}

}  // namespace

bool is_python(std::string_view program) {
  constexpr std::string_view kPython = "python";
  program = file_name(program);
  return program.starts_with(kPython) &&
         program.substr(kPython.size()).find_first_not_of("0123456789.") == std::string_view::npos;
}

std::optional<PythonCommand> python_command(const std::vector<std::string>& argv) {
  // Flags may be combined ("-uB"). The last letter may be an option with a value, which is the rest
  // of the word or the next word.
  constexpr std::string_view kFlags = "bBdEiIOPqRsStuvx";
  constexpr std::string_view kWithValue = "WXm";
  if (argv.empty() || !is_python(argv.front())) return std::nullopt;
  PythonCommand command;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word.empty() || word == "-") return std::nullopt;  // stdin
    if (word.front() != '-') {
      command.script = word;
      return command;
    }
    const std::size_t at = std::min(word.find_first_not_of(kFlags, 1), word.size());
    if (at == word.size()) {
      command.options.push_back(word);
      continue;
    }
    if (kWithValue.find(word[at]) == std::string_view::npos) return std::nullopt;
    const bool is_joined = at + 1 < word.size();
    if (!is_joined && i + 1 == argv.size()) return std::nullopt;
    const std::string value = is_joined ? word.substr(at + 1) : argv[++i];
    if (word[at] == 'm') {
      if (at > 1) command.options.push_back(word.substr(0, at));
      command.module = value;
      return value.empty() ? std::nullopt : std::optional(command);
    }
    command.options.push_back(word);
    if (!is_joined) command.options.push_back(value);
  }
  return std::nullopt;
}

std::optional<std::string> shell_script(const std::vector<std::string>& argv) {
  if (argv.empty()) return std::nullopt;
  const std::string_view program = file_name(argv.front());
  if (program != "sh" && program != "bash" && program != "dash") return std::nullopt;
  const auto file = std::find_if(argv.begin() + 1, argv.end(), [](const std::string& word) {
    // Flags without a value; -c, -s and -o mean a different kind of command line.
    return word.size() < 2 || word.front() != '-' ||
           word.find_first_not_of("aefhlmnuvxBCEHPT", 1) != std::string::npos;
  });
  if (file == argv.end() || file->empty() || file->front() == '-' || file->front() == '+')
    return std::nullopt;
  return *file;
}

}  // namespace dlaunch
