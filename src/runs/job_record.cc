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
  std::string text = "git commit " + git.commit;
  if (!git.branch.empty()) text += " (" + git.branch + ')';
  return git.changes ? text + "; " + changes_text(*git.changes) : text;
}

}  // namespace

std::string job_record_text(const JobRecord& record, const RunOrigin& origin) {
  std::string text;
  add_comment("run " + origin.run + ", started " + time_text(origin.started) + " on " +
                  origin.host + " (" + origin.kernel + ") by dlaunch " + record.version,
              text);
  add_comment("typed in " + origin.folder + ": " + record.typed, text);
  if (!record.native.empty())
    add_comment("the same again: cd " + jobfile::shell_quote(origin.folder) + " && dlaunch run" +
                    record.again + ' ' + jobfile::shell_quote(origin.shown_path + "/job.yaml"),
                text);
  if (!record.note.empty()) add_comment(record.note, text);
  if (!origin.git.commit.empty()) add_comment(git_text(origin.git), text);
  if (!origin.python_environment.empty())
    add_comment("Python environment: " + origin.python_environment, text);
  if (record.native.empty())
    add_comment("the command is not UTF-8, which no job file can hold", text);
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
