#include "jobfile/dialects/paths.h"

#include <filesystem>

#include "jobfile/diagnostics.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

std::string path_below(const std::string& folder, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(folder) / text;
  std::string out = path.lexically_normal().string();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

bool is_remote(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon < 2) return false;
  const std::string_view scheme = text.substr(0, colon);
  return scheme != "file" && scheme.find_first_not_of(kLetters) == std::string_view::npos;
}

std::string problem_of_path(std::string_view text) {
  if (text.starts_with("file:")) text.remove_prefix(5);
  while (text.starts_with("/")) text.remove_prefix(1);  // file:///C:/data
  const bool has_drive = text.size() > 2 && is_letter(text[0]) && text[1] == ':' &&
                         (text[2] == '\\' || text[2] == '/');
  const bool is_windows =
      has_drive || text.starts_with("\\\\") || text.starts_with(".\\") || text.starts_with("..\\");
  if (!is_windows) return "";
  return in_quotes(text) + ", a Windows path; use a local one, such as ./data";
}

std::string without_file_scheme(std::string_view text) {
  if (!text.starts_with("file:")) return std::string(text);
  text.remove_prefix(5);
  if (text.starts_with("//")) text.remove_prefix(2);
  return std::string(text);
}

}  // namespace dlaunch::jobfile
