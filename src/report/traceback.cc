#include "report/traceback.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "text/strings.h"

namespace dlaunch {

namespace {

// The folders in which Python keeps libraries.
constexpr std::array<std::string_view, 2> kPackageFolders = {"/site-packages/", "/dist-packages/"};
constexpr std::string_view kStandardLibrary = "/lib/python3";

bool is_library(const TracebackFrame& frame) {
  const std::string_view file = frame.file;
  const auto holds = [&](std::string_view part) { return file.find(part) != file.npos; };
  return file.starts_with("<frozen ") || holds(kStandardLibrary) ||
         std::any_of(kPackageFolders.begin(), kPackageFolders.end(), holds);
}

std::string_view short_file(std::string_view file) {
  if (file.starts_with('<')) return file;
  for (const std::string_view folder : kPackageFolders) {
    const std::size_t at = file.rfind(folder);
    if (at != std::string_view::npos) return file.substr(at + folder.size());
  }
  const std::size_t library = file.rfind(kStandardLibrary);
  if (library != std::string_view::npos) {
    const std::size_t end = file.find('/', library + kStandardLibrary.size());
    if (end != std::string_view::npos) return file.substr(end + 1);
  }
  return file.substr(file.rfind('/') + 1);
}

std::string describe(const TracebackFrame& frame) {
  std::string text(short_file(frame.file));
  text += ':' + frame.line;
  if (!frame.function.empty() && frame.function != "<module>") text += " in " + frame.function;
  return text;
}

/// Reads `  File "train.py", line 118, in forward`, and faulthandler's form without the second
/// comma.
std::optional<TracebackFrame> read_stack_frame(std::string_view line) {
  constexpr std::string_view kBegin = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  if (!line.starts_with(kBegin)) return std::nullopt;
  const std::size_t file_end = line.rfind(kLine);
  if (file_end == std::string_view::npos || file_end < kBegin.size()) return std::nullopt;
  TracebackFrame frame;
  frame.file = line.substr(kBegin.size(), file_end - kBegin.size());
  std::string_view rest = line.substr(file_end + kLine.size());
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  frame.line = rest.substr(0, digits);
  if (frame.line.empty()) return std::nullopt;
  rest.remove_prefix(digits);
  if (rest.starts_with(',')) rest.remove_prefix(1);
  if (rest.starts_with(" in ")) frame.function = rest.substr(4);
  return frame;
}

/// The last frame outside libraries, else the last frame; nullopt: there are no frames.
std::optional<TracebackFrame> innermost_of_program(const std::vector<TracebackFrame>& frames) {
  if (frames.empty()) return std::nullopt;
  const auto own = std::find_if_not(frames.rbegin(), frames.rend(), is_library);
  return own == frames.rend() ? frames.back() : *own;
}

/// "train.py:118 in forward" for the last frame. A file in a library keeps its path from the
/// package on, and the last frame outside libraries is named as its caller. Of other files, only
/// the last component is shown.
std::optional<std::string> describe_innermost(const std::vector<TracebackFrame>& frames) {
  if (frames.empty()) return std::nullopt;
  std::string text = describe(frames.back());
  if (!is_library(frames.back())) return text;
  const auto caller = std::find_if_not(frames.rbegin(), frames.rend(), is_library);
  if (caller != frames.rend()) text += ", called from " + describe(*caller);
  return text;
}

using Lines = std::vector<std::string>;

constexpr std::string_view kHeader = "Traceback (most recent call last):";
constexpr std::string_view kGroupHeader = "+ Exception Group Traceback (most recent call last):";
// How many lines of another thread or a logger may interrupt one traceback.
constexpr int kMaxNoise = 20;

/// For an error without frames, only `at` is known.
ProgramError error_in(std::string exception, const std::vector<TracebackFrame>& frames,
                      std::size_t at) {
  return {std::move(exception), describe_innermost(frames), innermost_of_program(frames), at};
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view without_right_blanks(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Removes the mark of "[rank3]: text", the form of uncaught exceptions since PyTorch 2.4.
std::string_view without_rank_mark(std::string_view line) {
  constexpr std::string_view kMark = "[rank";
  if (!line.starts_with(kMark)) return line;
  std::size_t at = kMark.size();
  while (at < line.size() && is_digit(line[at])) ++at;
  if (at == kMark.size() || !line.substr(at).starts_with("]:")) return line;
  line.remove_prefix(at + 2);
  if (line.starts_with(' ')) line.remove_prefix(1);
  return line;
}

/// True if `line` starts with `prefix`, where a digit matches any digit because loggers write
/// times.
bool has_shape(std::string_view line, std::string_view prefix) {
  if (line.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (line[i] != prefix[i] && !(is_digit(line[i]) && is_digit(prefix[i]))) return false;
  }
  return true;
}

/// `line` without `prefix`; empty if the line is only the prefix without its trailing blanks.
std::string_view without_prefix(std::string_view line, std::string_view prefix) {
  if (has_shape(line, prefix)) return line.substr(prefix.size());
  const std::string_view bare = without_right_blanks(prefix);
  if (line.size() == bare.size() && has_shape(line, bare)) return {};
  return line;
}

/// Where the message of "package.Name: message" or "package.Name" begins; npos for other
/// lines. A name in capitals only is a logger's level ("ERROR: ...").
std::size_t exception_name_end(std::string_view line) {
  if (line.empty() || !is_letter(line[0])) return std::string_view::npos;
  std::size_t at = 0;
  bool has_small = false;
  // "f.<locals>.MyError" is the qualified name of a class defined in a function.
  while (at < line.size() && (is_letter(line[at]) || is_digit(line[at]) || line[at] == '.' ||
                              line[at] == '<' || line[at] == '>')) {
    has_small = has_small || (line[at] >= 'a' && line[at] <= 'z');
    ++at;
  }
  const bool ends =
      at == line.size() || (line[at] == ':' && (at + 1 == line.size() || line[at + 1] == ' '));
  return has_small && ends ? at : std::string_view::npos;
}

bool is_exception_line(std::string_view line) {
  return exception_name_end(line) != std::string_view::npos;
}

/// The exception line, joined with the next non-blank line if it only introduces that line
/// ("RuntimeError: Error(s) in loading state_dict for Net:").
std::string whole_message(const Lines& lines, std::size_t at, std::string_view prefix) {
  std::string text(without_right_blanks(without_prefix(lines[at], prefix)));
  if (text.empty() || text.back() != ':') return text;
  for (std::size_t next = at + 1; next < lines.size() && next < at + 4; ++next) {
    const std::string_view more = trimmed(without_prefix(lines[next], prefix));
    if (!more.empty()) return text + ' ' + std::string(more);
  }
  return text;
}

/// Reads the traceback whose header is line `header`.
std::optional<ProgramError> read_traceback(const Lines& lines, std::size_t header) {
  std::string_view prefix = lines[header];
  prefix = prefix.substr(0, prefix.find(kHeader));
  // "Original Traceback" of a data loader's worker: these words precede only the header, and are
  // not a prefix of every line.
  if (header + 1 >= lines.size() || !has_shape(lines[header + 1], prefix)) prefix = {};
  std::vector<TracebackFrame> frames;
  int noise = 0;
  for (std::size_t i = header + 1; i < lines.size() && noise <= kMaxNoise; ++i) {
    const std::string_view line = without_prefix(lines[i], prefix);
    if (line.find(kHeader) != std::string_view::npos) return std::nullopt;
    if (auto frame = read_stack_frame(line)) {
      frames.push_back(std::move(*frame));
    } else if (is_exception_line(line)) {
      return error_in(whole_message(lines, i, prefix), frames, i);
    } else if (!line.starts_with(' ')) {
      ++noise;
    }
  }
  return std::nullopt;
}

/// Removes the bars that draw the tree of an exception group.
std::string_view without_bars(std::string_view line) {
  const std::size_t text = line.find_first_not_of(" |");
  if (text == std::string_view::npos) return {};
  const std::size_t bar = line.substr(0, text).rfind('|');
  if (bar == std::string_view::npos) return line;
  return bar + 2 <= line.size() ? line.substr(bar + 2) : std::string_view{};
}

bool is_separator(std::string_view line) {
  const std::string_view text = trimmed(line.substr(std::min(line.find('+'), line.size())));
  return text.starts_with("+-") && text.find("---") != std::string_view::npos;
}

/// The first exception that is not itself a group, at any depth of the group whose exception line
/// is just before `begin`.
std::optional<ProgramError> first_in_group(const Lines& lines, std::size_t begin) {
  for (std::size_t i = begin; i + 1 < lines.size(); ++i) {
    if (!is_separator(lines[i])) continue;
    const std::string_view next = without_bars(lines[i + 1]);
    if (next.starts_with("Exception Group Traceback")) continue;
    if (next.starts_with(kHeader)) return read_traceback(lines, i + 1);
    if (next.ends_with(" sub-exceptions)") || next.ends_with("(1 sub-exception)")) continue;
    if (is_exception_line(next)) return error_in(std::string(next), {}, i + 1);
  }
  return std::nullopt;
}

std::optional<ProgramError> read_group(const Lines& lines, std::size_t header) {
  std::vector<TracebackFrame> frames;
  for (std::size_t i = header + 1; i < lines.size(); ++i) {
    const std::string_view line = without_bars(lines[i]);
    if (auto frame = read_stack_frame(line)) {
      frames.push_back(std::move(*frame));
    } else if (is_exception_line(line)) {
      ProgramError found = error_in(std::string(line), frames, i);
      if (const auto first = first_in_group(lines, i + 1)) {
        found.exception += "; the first: " + first->exception;
        if (first->where) found.where = first->where;
        if (first->frame) found.frame = first->frame;
      }
      return found;
    }
  }
  return std::nullopt;
}

std::optional<ProgramError> read_any(const Lines& lines, std::size_t header) {
  const bool is_group = lines[header].find(kGroupHeader) != std::string::npos;
  return is_group ? read_group(lines, header) : read_traceback(lines, header);
}

/// A header inside the drawing of a group ("    | Traceback") belongs to the group's own header.
bool is_inside_group(std::string_view line) {
  return trimmed(line).starts_with('|');
}

std::optional<ProgramError> last_traceback(const Lines& lines, bool ignored_ones) {
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (lines[i].find(kHeader) == std::string::npos || is_inside_group(lines[i])) continue;
    const bool ignored = i > 0 && lines[i - 1].starts_with("Exception ignored ");
    if (ignored != ignored_ones) continue;
    if (auto found = read_any(lines, i)) return found;
  }
  return std::nullopt;
}

std::optional<ProgramError> last_syntax_error(const Lines& lines, std::size_t after) {
  for (std::size_t i = lines.size(); i-- > after;) {
    const std::string_view name = std::string_view(lines[i]).substr(0, lines[i].find(':'));
    if (name != "SyntaxError" && name != "IndentationError" && name != "TabError") continue;
    for (std::size_t back = 1; back <= 4 && back <= i; ++back) {
      const auto frame = read_stack_frame(lines[i - back]);
      if (frame) return error_in(lines[i], {*frame}, i);
    }
  }
  return std::nullopt;
}

std::optional<ProgramError> last_fatal_error(const Lines& lines, std::size_t after) {
  for (std::size_t i = lines.size(); i-- > after;) {
    if (!lines[i].starts_with("Fatal Python error: ")) continue;
    ProgramError found = error_in(lines[i], {}, i);
    // faulthandler prints "most recent call first", so the innermost frame of the current thread
    // comes first.
    bool is_current = false;
    for (std::size_t next = i + 1; next < lines.size() && !found.where; ++next) {
      is_current = is_current || lines[next].starts_with("Current thread ");
      const auto frame = read_stack_frame(lines[next]);
      if (is_current && frame) found = error_in(lines[i], {*frame}, i);
    }
    return found;
  }
  return std::nullopt;
}

/// "terminate called after throwing an instance of 'NAME'" and "  what():  TEXT" of libstdc++.
std::optional<ProgramError> last_cpp_exception(const Lines& lines) {
  constexpr std::string_view kThrown = "terminate called after throwing an instance of '";
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (!lines[i].starts_with(kThrown)) continue;
    std::string name = lines[i].substr(kThrown.size());
    name.erase(std::min(name.rfind('\''), name.size()));
    const std::string_view next = i + 1 < lines.size() ? trimmed(lines[i + 1]) : std::string_view{};
    constexpr std::string_view kWhat = "what():";
    if (next.starts_with(kWhat)) name.append(": ").append(trimmed(next.substr(kWhat.size())));
    return error_in(std::move(name), {}, i);
  }
  return std::nullopt;
}

/// "F0929 17:42:48.594200 1044529 client.h:77] text", which glog and Abseil write before they
/// abort.
std::optional<ProgramError> last_fatal_log_line(const Lines& lines) {
  constexpr std::string_view kShape = "F0000 00:00:00.";
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (lines[i].empty() || lines[i][0] != 'F' || !has_shape(lines[i], kShape)) continue;
    const std::size_t end = lines[i].find("] ");
    const std::size_t location = lines[i].rfind(' ', end);
    if (end == std::string::npos || location == std::string::npos) continue;
    ProgramError error = error_in(lines[i].substr(end + 2), {}, i);
    error.where = lines[i].substr(location + 1, end - location - 1);
    return error;
  }
  return std::nullopt;
}

/// "/usr/bin/python3: can't open file 'trian.py': [Errno 2] No such file or directory"
std::optional<ProgramError> last_word_of_interpreter(const Lines& lines) {
  constexpr std::array<std::string_view, 4> kWords{"can't open file ", "No module named ",
                                                   "can't find '__main__' module",
                                                   "Error while finding module specification for "};
  for (std::size_t i = lines.size(); i-- > 0;) {
    const std::string_view line = lines[i];
    const std::size_t end = line.find(": ");
    if (end == std::string_view::npos || line.substr(0, end).find("python") == line.npos) continue;
    const std::string_view text = line.substr(end + 2);
    if (std::any_of(kWords.begin(), kWords.end(),
                    [&](auto word) { return text.starts_with(word); }))
      return error_in(std::string(line), {}, i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProgramError> find_program_error(const std::vector<std::string>& raw) {
  Lines lines;
  lines.reserve(raw.size());
  for (const std::string& line : raw) lines.emplace_back(without_rank_mark(line));

  std::optional<ProgramError> best = last_traceback(lines, false);
  const auto end_of_best = [&] { return best ? best->at + 1 : 0; };
  if (auto found = last_syntax_error(lines, end_of_best())) best = std::move(found);
  if (auto found = last_fatal_error(lines, end_of_best())) best = std::move(found);
  if (!best) best = last_cpp_exception(lines);
  if (!best) best = last_fatal_log_line(lines);
  if (!best) best = last_word_of_interpreter(lines);
  if (!best) best = last_traceback(lines, true);
  return best;
}

}  // namespace dlaunch
