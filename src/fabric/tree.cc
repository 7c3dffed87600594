#include "fabric/tree.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <limits>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "text/number.h"
#include "text/strings.h"

namespace dlaunch::fabric {

namespace {

/// Removes the digits at the beginning and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

constexpr std::size_t kMaxFile = 64 * 1024;

}  // namespace

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return number_of<std::uint32_t>(text, 16);
}

bool is_device_name(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return !name.empty() && name.size() <= kMost && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter_or_digit(c) || c == '_' || c == '.' || c == ':' || c == '@' || c == '-';
         });
}

std::string plain_or_empty(std::string_view text, std::size_t most) {
  const bool is_plain = text.size() <= most && std::all_of(text.begin(), text.end(), [](char c) {
                          return c >= ' ' && c <= '~';
                        });
  return is_plain ? std::string(text) : std::string();
}

bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view left = take_number(a);
      const std::string_view right = take_number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

void Oddities::add(std::string text) {
  constexpr std::size_t kMost = 16;
  if (texts_.size() < kMost) texts_.push_back(std::move(text));
}

Tree::Tree(const std::string& path)
    : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

Tree::~Tree() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<std::string> Tree::read(const std::string& path) const {
  if (descriptor_ < 0) return std::nullopt;
  const int file =
      ::openat(descriptor_, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> block;
  ssize_t got = 1;
  while (got != 0 && text.size() < kMaxFile) {
    got = ::read(file, block.data(), block.size());
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
  }
  ::close(file);
  if (got < 0) return std::nullopt;
  return std::string(trimmed(text));
}

std::optional<int> Tree::read_number(const std::string& path) const {
  const std::optional<std::string> text = read(path);
  return text ? parse_number(*text, std::numeric_limits<int>::max()) : std::nullopt;
}

std::vector<std::string> Tree::names() const {
  return names(".");
}

std::vector<std::string> Tree::names(const std::string& path) const {
  std::vector<std::string> names;
  if (descriptor_ < 0) return names;
  // fdopendir(3) takes over the descriptor, and descriptors share a file position, so open another
  // one.
  const int own = ::openat(descriptor_, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = own < 0 ? nullptr : ::fdopendir(own);
  if (folder == nullptr) {
    if (own >= 0) ::close(own);
    return names;
  }
  while (const dirent* entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

bool Tree::has(const std::string& path) const {
  return descriptor_ >= 0 && ::faccessat(descriptor_, path.c_str(), F_OK, 0) == 0;
}

std::string Tree::link_target(const std::string& path) const {
  std::array<char, PATH_MAX> target;
  if (descriptor_ < 0) return {};
  const ssize_t length = ::readlinkat(descriptor_, path.c_str(), target.data(), target.size());
  return length <= 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

std::string Tree::link_name(const std::string& path) const {
  const std::string text = link_target(path);
  return text.substr(text.rfind('/') + 1);
}

bool Tree::usable(const std::string& path) const {
  return descriptor_ >= 0 && ::faccessat(descriptor_, path.c_str(), R_OK | W_OK, 0) == 0;
}

std::optional<int> parse_number(std::string_view text, int max) {
  const auto value = count_from<int>(text);
  return value && *value <= max ? value : std::nullopt;
}

}  // namespace dlaunch::fabric
