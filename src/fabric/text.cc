#include "fabric/text.h"

#include <algorithm>
#include <charconv>

namespace dlaunch::fabric {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes the digits at the beginning, without zeros in front of them.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

}  // namespace

std::optional<std::uint32_t> parse_hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

bool is_device_name(std::string_view name) {
  constexpr std::size_t kMost = 64;
  return !name.empty() && name.size() <= kMost && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                  c == '.' || c == ':' || c == '@' || c == '-';
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

}  // namespace dlaunch::fabric
