#include "os/proc_file.h"
#include "text/number.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace dlaunch {

std::string read_proc_file(const std::string& path, std::size_t limit) {
  std::string text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 16384> block;
  while (text.size() < limit) {
    const ssize_t got = ::read(file, block.data(), std::min(block.size(), limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<std::size_t>(size)) : std::string();
}

std::vector<int> numbered_entries(const std::string& folder) {
  std::vector<int> numbers;
  DIR* directory = ::opendir(folder.c_str());
  if (directory == nullptr) return numbers;
  while (const dirent* entry = ::readdir(directory)) {
    if (const auto number = number_of<int>(entry->d_name)) numbers.push_back(*number);
  }
  ::closedir(directory);
  return numbers;
}

std::string_view stat_field(std::string_view stat, int number) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return {};
  stat.remove_prefix(name_end + 1);
  for (int field = 3;; ++field) {
    const std::size_t begin = stat.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    stat.remove_prefix(begin);
    const std::string_view word = stat.substr(0, stat.find_first_of(" \n"));
    if (field == number) return word;
    stat.remove_prefix(word.size());
  }
}

int number_in_own_namespace(std::string_view status) {
  const std::size_t line = status.find("\nNSpid:");
  const std::size_t end = line == std::string_view::npos ? line : status.find('\n', line + 1);
  if (end == std::string_view::npos) return 0;
  const std::size_t last = status.rfind('\t', end) + 1;  // listed from our namespace to its own
  return number_of<int>(status.substr(last, end - last)).value_or(0);
}

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

}  // namespace dlaunch
