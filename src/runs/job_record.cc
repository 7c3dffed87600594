#include "runs/job_record.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "jobfile/shell_quote.h"
#include "model/time.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kNamedFiles = 5;

// How comments begin, for the writer and the reader.
constexpr std::string_view kRun = "run ";
constexpr std::string_view kBy = " by dlaunch ";
constexpr std::string_view kOn = " on ";
constexpr std::string_view kAgain = "the same again: cd ";
constexpr std::string_view kCommit = "git commit ";
constexpr std::string_view kPython = "Python environment: ";

void add_comment(const std::string& line, std::string& text) {
  // Replace every byte that could end the comment.
  text += "# " + plain_line(line) + '\n';
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(take_line(text));
  }
  return lines;
}

/// "no file differs from it", "2 files differ from it: a.py, b.py"
std::string changes_text(const std::string& porcelain) {
  const auto lines = lines_of(porcelain);
  if (lines.empty()) return "no file differs from it";
  std::string text = lines.size() == 1 ? "1 file differs from it:"
                                       : std::to_string(lines.size()) + " files differ from it:";
  for (std::size_t i = 0; i < lines.size() && i < kNamedFiles; ++i) {
    constexpr std::size_t kState = 3;  // "XY "
    text.append(i == 0 ? " " : ", ").append(lines[i].substr(std::min(kState, lines[i].size())));
  }
  return text + (lines.size() > kNamedFiles ? ", ..." : "");
}

std::string git_text(const GitState& git) {
  std::string text = std::string(kCommit) + git.commit;
  if (!git.branch.empty()) text += " (" + git.branch + ')';
  return git.changes ? text + "; " + changes_text(*git.changes) : text;
}

/// One comment of a record, without "# ".
void read_comment(std::string_view line, RecordedOrigin& origin) {
  const auto rest = [&](std::string_view prefix) -> std::optional<std::string_view> {
    if (!line.starts_with(prefix)) return std::nullopt;
    return line.substr(prefix.size());
  };
  if (rest(kRun)) {
    if (const auto by = line.rfind(kBy); by != std::string_view::npos)
      origin.version = line.substr(by + kBy.size());
    if (const auto on = line.find(kOn); on != std::string_view::npos)
      origin.host = line.substr(on + kOn.size(), line.find(' ', on + kOn.size()) - on - kOn.size());
  } else if (rest(kAgain)) {
    // cd FOLDER && dlaunch run [OPTION...] FILE
    constexpr std::size_t kBefore = 5;
    const auto words = jobfile::words_of_line(line.substr(line.find("cd ")));
    if (words.size() > kBefore) origin.again.assign(words.begin() + kBefore, words.end() - 1);
    origin.has_job = true;
  } else if (const auto commit = rest(kCommit)) {
    origin.commit = commit->substr(0, commit->find_first_of(" ;"));
  } else if (const auto python = rest(kPython)) {
    origin.python_environment = *python;
  }
}

}  // namespace

std::string python_environment(const Environment& environment) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto found = find_variable(environment, name); found && !found->empty())
      return *found;
  }
  return "";
}

RecordedOrigin parse_job_record(std::string_view text) {
  RecordedOrigin origin;
  // Below the job, the comments are the user's.
  while (text.starts_with("# ")) read_comment(take_line(text).substr(2), origin);
  return origin;
}

std::string job_record_text(const JobRecord& record, const RunOrigin& origin) {
  std::string text;
  add_comment(std::string(kRun) + origin.run + ", started " + time_text(origin.started) +
                  std::string(kOn) + origin.host + " (" + origin.kernel + ')' + std::string(kBy) +
                  record.version,
              text);
  add_comment("typed in " + origin.folder + ": " + record.typed, text);
  if (!record.native.empty())
    add_comment(std::string(kAgain) + jobfile::shell_quote(origin.folder) + " && dlaunch run" +
                    record.again + ' ' + jobfile::shell_quote(origin.shown_path + "/job.yaml"),
                text);
  if (!record.note.empty()) add_comment(record.note, text);
  if (!origin.git.commit.empty()) add_comment(git_text(origin.git), text);
  if (!origin.python_environment.empty())
    add_comment(std::string(kPython) + origin.python_environment, text);
  if (record.native.empty())
    add_comment("the command is not UTF-8, so a job file cannot hold it", text);
  text += record.native;
  if (record.given.empty()) return text;
  text += '\n';
  add_comment(record.file + " as it was given:", text);
  for (const std::string_view line : lines_of(record.given)) {
    text += line.empty() ? "#" : "# ";
    text.append(line.substr(0, line.find_last_not_of('\r') + 1)).append(1, '\n');
  }
  return text;
}

}  // namespace dlaunch
