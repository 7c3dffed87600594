#include "report/evidence.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "report/traceback.h"
#include "runs/run_record.h"
#include "text/plain_text.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kColumns = 200;
constexpr std::size_t kCauseColumns = 4000;
constexpr std::size_t kLastLines = 40;

/// How many lines `line` moves the cursor up ("ESC [ 2 A"), as nested progress bars do before they
/// redraw.
std::size_t lines_up(std::string_view line) {
  std::size_t up = 0;
  for (std::size_t at = line.find("\x1b["); at != std::string_view::npos;
       at = line.find("\x1b[", at + 2)) {
    std::size_t count = 0;
    std::size_t end = at + 2;
    while (end < line.size() && line[end] >= '0' && line[end] <= '9') {
      count = std::min<std::size_t>(count * 10 + static_cast<std::size_t>(line[end] - '0'), 1000);
      ++end;
    }
    if (end < line.size() && line[end] == 'A') up += std::max<std::size_t>(count, 1);
  }
  return up;
}

/// What a screen would show at the end. Later lines can replace only lines that were redrawn with
/// "\r", so no line of a program's error is lost.
std::vector<std::string> plain_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t bars = 0;  // bars at the end of `lines`
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t replaced = std::min(lines_up(line), bars);
    lines.resize(lines.size() - replaced);
    const std::size_t cr = line.find('\r');
    const bool is_bar = cr != std::string_view::npos && cr + 1 < line.size();
    bars = is_bar ? bars - replaced + 1 : 0;
    lines.push_back(plain_line(line));
  }
  while (!lines.empty() && lines.back().find_first_not_of(' ') == std::string::npos)
    lines.pop_back();
  return lines;
}

std::string read_from(int fd, off_t begin, std::size_t size) {
  std::string text(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(fd, text.data() + done, size - done, begin + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

constexpr std::size_t kMaxFile = std::size_t{1} << 20;

}  // namespace

Evidence find_evidence(std::string_view stderr_tail) {
  const std::vector<std::string> lines = plain_lines(stderr_tail);
  Evidence evidence;
  const auto error = find_program_error(lines);
  if (error) {
    evidence.exception = cut_to_columns(error->exception, kCauseColumns);
    evidence.lines_after = lines.size() - 1 - error->at;
    if (error->where) evidence.where = cut_to_columns(*error->where, kColumns);
    if (error->frame) evidence.source = SourceLine{error->frame->file, error->frame->line};
  }
  for (std::size_t i = lines.size() - std::min(lines.size(), kLastLines); i < lines.size(); ++i) {
    const bool is_cause = !error || i == error->at;  // if there is no error, any line may be
    evidence.last_lines.push_back(cut_to_columns(lines[i], is_cause ? kCauseColumns : kColumns));
  }
  return evidence;
}

std::string read_tail(const std::string& file, std::size_t max_bytes) {
  // O_NONBLOCK, because the file may be a FIFO.
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {};
  struct stat status {};
  std::string text;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    const std::size_t wanted = std::min(size, max_bytes);
    // Reads one byte more, to see whether the first line of the tail is complete.
    const std::size_t before = size > wanted ? 1 : 0;
    text = read_from(fd, static_cast<off_t>(size - wanted - before), wanted + before);
    const std::size_t line_end = before == 0 ? std::string::npos : text.find('\n');
    if (line_end != std::string::npos && line_end + 1 < text.size()) {
      text.erase(0, line_end + 1);
    } else {
      text.erase(0, before);
    }
  }
  ::close(fd);
  return text;
}

Evidence read_error_file(std::string_view json) {
  if (json.size() > kMaxFile) return {};
  const nlohmann::json file = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("message")) return {};
  const nlohmann::json& message = file["message"];
  // Older writers put the text there directly, without an object.
  const std::string text =
      message.is_object() ? json_string(message, "message") : json_string(file, "message");
  std::string stack;
  if (message.is_object() && message.contains("extraInfo") && message["extraInfo"].is_object()) {
    stack = json_string(message["extraInfo"], "py_callstack");
  }
  Evidence evidence = find_evidence(stack);
  if (!evidence.exception) evidence.exception = find_evidence(text).exception;
  if (!evidence.exception && !text.empty()) {
    const Evidence lines = find_evidence(text);
    if (!lines.last_lines.empty()) evidence.exception = lines.last_lines.front();
  }
  evidence.last_lines.clear();
  return evidence;
}

Evidence evidence_of(const std::string& attempt_folder, unsigned rank, std::size_t tail) {
  const std::string base = attempt_folder + "/rank-" + std::to_string(rank);
  Evidence evidence = find_evidence(read_tail(base + ".err", tail));
  if (evidence.last_lines.empty()) {
    evidence = find_evidence(read_tail(base + ".out", tail));
    evidence.of_stdout = !evidence.last_lines.empty();
  }
  const Evidence recorded = read_error_file(read_tail(base + ".error.json", kMaxFile));
  if (recorded.exception) {
    evidence.exception = recorded.exception;
    evidence.where = recorded.where;
    evidence.source = recorded.source;
    evidence.lines_after = 0;  // the error file is written when the program ends
  }
  return evidence;
}

}  // namespace dlaunch
