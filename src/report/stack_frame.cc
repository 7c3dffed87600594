#include "report/stack_frame.h"

#include <algorithm>
#include <array>

namespace dlaunch {

namespace {

// Where Python keeps what is not the user's own program.
constexpr std::array<std::string_view, 2> kPackageFolders = {"/site-packages/", "/dist-packages/"};
constexpr std::string_view kStandardLibrary = "/lib/python3";

bool is_library(const StackFrame& frame) {
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

std::string describe(const StackFrame& frame) {
  std::string text(short_file(frame.file));
  text += ':' + frame.line;
  if (!frame.function.empty() && frame.function != "<module>") text += " in " + frame.function;
  return text;
}

}  // namespace

std::optional<StackFrame> read_stack_frame(std::string_view line) {
  constexpr std::string_view kBegin = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  if (!line.starts_with(kBegin)) return std::nullopt;
  const std::size_t file_end = line.rfind(kLine);
  if (file_end == std::string_view::npos || file_end < kBegin.size()) return std::nullopt;
  StackFrame frame;
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

std::optional<StackFrame> innermost_of_program(const std::vector<StackFrame>& frames) {
  if (frames.empty()) return std::nullopt;
  const auto own = std::find_if_not(frames.rbegin(), frames.rend(), is_library);
  return own == frames.rend() ? frames.back() : *own;
}

std::optional<std::string> describe_innermost(const std::vector<StackFrame>& frames) {
  if (frames.empty()) return std::nullopt;
  std::string text = describe(frames.back());
  if (!is_library(frames.back())) return text;
  const auto caller = std::find_if_not(frames.rbegin(), frames.rend(), is_library);
  if (caller != frames.rend()) text += ", called from " + describe(*caller);
  return text;
}

}  // namespace dlaunch
