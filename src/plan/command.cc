#include "plan/command.h"

#include <algorithm>
#include <iterator>

#include "jobfile/shell_quote.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

// Keywords and built-ins of dash(1) and bash(1), sorted. ("." and ":" cannot begin a plain word.)
constexpr std::string_view kShellWords[] = {
    "alias",  "bg",      "bind",     "break",    "builtin",   "caller",   "case",    "cd",
    "chdir",  "command", "compgen",  "complete", "compopt",   "continue", "coproc",  "declare",
    "dirs",   "disown",  "do",       "done",     "echo",      "elif",     "else",    "enable",
    "esac",   "eval",    "exec",     "exit",     "export",    "false",    "fc",      "fg",
    "fi",     "for",     "function", "getopts",  "hash",      "help",     "history", "if",
    "in",     "jobs",    "kill",     "let",      "local",     "logout",   "mapfile", "popd",
    "printf", "pushd",   "pwd",      "read",     "readarray", "readonly", "return",  "select",
    "set",    "shift",   "shopt",    "source",   "suspend",   "test",     "then",    "time",
    "times",  "trap",    "true",     "type",     "typeset",   "ulimit",   "umask",   "unalias",
    "unset",  "until",   "wait",     "while"};
static_assert(std::is_sorted(std::begin(kShellWords), std::end(kShellWords)));

constexpr std::string_view kDefineSource =
    "command -v source >/dev/null || eval 'source() { . \"$@\"; }'\n";
// Under `set -e` the shell exits at the failing line, so only a trap can report that setup failed.
// The trap itself does not exit, so the shell keeps its exit code.
constexpr std::string_view kSetupTrap =
    "trap 'case $? in 0) ;; *) echo \"setup failed with code $?\" >&2 ;; esac' EXIT\n";
constexpr std::string_view kSetupTrapOff = "\ncase $? in 0) trap - EXIT ;; *) exit $? ;; esac";
// The end of setup; command_text() also uses it to find the start of the command.
constexpr std::string_view kSetupEnd =
    "\ncase $? in 0) set +e ;; *) set -- $?; echo \"setup failed with code $1\" >&2; exit \"$1\" "
    ";; esac\n";
constexpr std::string_view kExecArguments = "exec \"$@\"";
constexpr std::string_view kExec = "exec ";
// "$@" becomes `exec`, or nothing if the first word of the command is not a program in PATH.
constexpr std::string_view kPerhapsExec = "\"$@\" ";

bool is_plain(char c) {
  return is_letter_or_digit(c) ||
         (c != '\0' && std::string_view("_./+-").find(c) != std::string_view::npos);
}

bool mentions_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto after = at + word.size();
    const bool starts =
        at == 0 || std::string_view(" \t\n;&|({").find(text[at - 1]) != std::string_view::npos;
    const bool ends = after == text.size() ||
                      std::string_view(" \t\n;").find(text[after]) != std::string_view::npos;
    if (starts && ends) return true;
  }
  return false;
}

/// Trims blanks, so that the last command is the end of the text. Does not trim the end if that
/// would leave a trailing backslash, which would quote what follows.
std::string_view without_blank_ends(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  const auto last = line.find_last_not_of(" \t\n");
  return line[last] == '\\' ? line.substr(first) : line.substr(first, last - first + 1);
}

/// Position after the quoted part that begins at `at`; npos if the quotes are not closed.
std::size_t after_quotes(std::string_view line, std::size_t at) {
  const char quote = line[at];
  for (std::size_t i = at + 1; i < line.size(); ++i) {
    if (line[i] == quote) return i + 1;
    if (line[i] == '\\' && quote == '"') ++i;
  }
  return std::string_view::npos;
}

/// Whether the words after the first do not start another command.
bool is_one_command(std::string_view line, std::size_t at) {
  while (at < line.size()) {
    const char c = line[at];
    if (c == '\'' || c == '"') {
      at = after_quotes(line, at);
      continue;
    }
    if (c == '\\') {
      at += 2;
      continue;
    }
    const bool duplicates = c == '&' && (line[at - 1] == '>' || line[at - 1] == '<');  // 2>&1
    if (!duplicates && std::string_view(";&|()`\n").find(c) != std::string_view::npos) return false;
    ++at;
  }
  return at != std::string_view::npos;
}

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : without_blank_ends(text)) {
    if (c == '\n') {
      line += "; ";
    } else {
      line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return line;
}

/// The prefix of a simple command after setup.
std::string perhaps_exec(std::string_view line) {
  return "case $(command -v " + std::string(line.substr(0, line.find_first_of(" \t"))) +
         ") in /*) set -- exec ;; esac\n" + std::string(kPerhapsExec);
}

}  // namespace

bool is_simple_command(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_plain(line[end])) ++end;
  if (end == 0 || (end < line.size() && line[end] != ' ' && line[end] != '\t')) return false;
  const std::string_view first = line.substr(0, end);
  if (first == "." || first.front() == '-') return false;
  if (std::binary_search(std::begin(kShellWords), std::end(kShellWords), first)) return false;
  return is_one_command(line, end);
}

CommandPlan plan_command(const Command& command, Shell shell, const std::string& setup) {
  const std::string_view body = without_blank_ends(setup);
  if (!command.is_shell && body.empty()) return {command.argv, false};

  const std::string_view line = without_blank_ends(command.line);
  std::string script;
  const bool needs_source =
      shell == Shell::sh &&
      (mentions_word(body, "source") || (command.is_shell && mentions_word(line, "source")));
  if (needs_source) script += kDefineSource;
  // A trap that setup sets stays active for the command; our trap would replace it.
  const bool traps = !body.empty() && !mentions_word(body, "trap");
  if (traps) script += kSetupTrap;
  if (!body.empty()) script += "set -e\n";
  script += body;
  if (traps) script += kSetupTrapOff;
  if (!script.empty()) script += kSetupEnd;

  const std::string program = shell == Shell::bash ? "bash" : "sh";
  if (!command.is_shell) {
    CommandPlan plan{{program, "-c", script.append(kExecArguments), program}, false};
    plan.argv.insert(plan.argv.end(), command.argv.begin(), command.argv.end());
    return plan;
  }
  const bool is_simple = is_simple_command(line);
  if (is_simple && !body.empty() && !mentions_word(body, "trap")) script += perhaps_exec(line);
  if (is_simple && script.empty() && shell == Shell::sh) script += kExec;
  script += line;
  return {{program, "-c", script}, !(is_simple && body.empty())};
}

std::string command_text(const CommandPlan& command) {
  const auto& argv = command.argv;
  const bool is_script =
      argv.size() >= 3 && argv[1] == "-c" && (argv[0] == "sh" || argv[0] == "bash");
  if (!is_script) return jobfile::shell_line(argv);
  std::string_view script = argv[2];
  const auto setup_end = script.rfind(kSetupEnd);
  if (setup_end == std::string_view::npos) {
    if (argv.size() > 3) return jobfile::shell_line(argv);
    if (!command.is_own_shell && script.starts_with(kExec)) script.remove_prefix(kExec.size());
    return on_one_line(script);
  }
  script.remove_prefix(setup_end + kSetupEnd.size());
  if (script == kExecArguments && argv.size() > 4)
    return jobfile::shell_line({argv.begin() + 4, argv.end()});
  const auto perhaps = script.find("\n" + std::string(kPerhapsExec));
  if (script.starts_with("case $(command -v ") && perhaps != std::string_view::npos) {
    script.remove_prefix(perhaps + 1 + kPerhapsExec.size());
  }
  return on_one_line(script);
}

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
