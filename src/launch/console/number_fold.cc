#include "launch/console/number_fold.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <optional>

#include "model/rank_list.h"
#include "text/number.h"

namespace dlaunch {

namespace {

constexpr std::size_t kValuesWidth = 24;  // columns, before "and 12 more"

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Digits at the beginning of `text` and the points between them.
std::string_view digits_of(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() &&
         (is_digit(text[size]) ||
          (text[size] == '.' && size > 0 && size + 1 < text.size() && is_digit(text[size + 1]))))
    ++size;
  return text.substr(0, size);
}

bool is_number(std::string_view digits) {
  return std::count(digits.begin(), digits.end(), '.') <= 1;
}

struct Difference {
  std::string_view first;  // empty: there is none
  std::string_view other;
};

/// nullopt: the lines differ in more than one number.
std::optional<Difference> difference(std::string_view first, std::string_view other) {
  Difference found;
  while (!first.empty() && !other.empty()) {
    if (!is_digit(first.front()) || !is_digit(other.front())) {
      if (first.front() != other.front()) return std::nullopt;
      first.remove_prefix(1);
      other.remove_prefix(1);
      continue;
    }
    const std::string_view one = digits_of(first);
    const std::string_view two = digits_of(other);
    if (one != two) {
      if (!found.first.empty() || !is_number(one) || !is_number(two)) return std::nullopt;
      found = {one, two};
    }
    first.remove_prefix(one.size());
    other.remove_prefix(two.size());
  }
  return first.empty() && other.empty() ? std::optional(found) : std::nullopt;
}

/// The value as a whole number, if it has no point and no leading 0 that a range would lose.
std::optional<std::uint32_t> whole(const std::string& value) {
  if (value.size() > 1 && value.front() == '0') return std::nullopt;
  return number_of<std::uint32_t>(value);
}

double amount(const std::string& value) {
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

}  // namespace

std::uint64_t hash_without_numbers(std::string_view line) {
  // FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/).
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U; };
  while (!line.empty()) {
    const std::string_view digits = digits_of(line);
    if (digits.empty()) {
      add(line.front());
      line.remove_prefix(1);
      continue;
    }
    if (is_number(digits)) {
      add('0');
    } else {
      for (const char c : digits) add(c);
    }
    line.remove_prefix(digits.size());
  }
  return hash;
}

bool NumberFold::fits(std::string_view first, std::string_view line) const {
  if (first == line) return true;
  const auto found = difference(first, line);
  return found && (values_.empty() || found->first.data() == first.data() + at_);
}

void NumberFold::join(std::string_view first, std::string_view line) {
  if (first == line) return;
  const auto found = difference(first, line);
  assert(found);
  if (values_.empty()) {
    at_ = static_cast<std::size_t>(found->first.data() - first.data());
    size_ = found->first.size();
    values_.emplace_back(found->first);
  }
  values_.emplace_back(found->other);
}

std::string NumberFold::values_text() const {
  std::vector<std::uint32_t> numbers;
  for (const std::string& value : values_) {
    if (const auto number = whole(value)) numbers.push_back(*number);
  }
  if (numbers.size() == values_.size()) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return compact_ranges(numbers, kValuesWidth);
  }
  const auto [least, greatest] = std::minmax_element(
      values_.begin(), values_.end(),
      [](const std::string& a, const std::string& b) { return amount(a) < amount(b); });
  return *least + '-' + *greatest;
}

std::string NumberFold::text(std::string_view first) const {
  std::string out(first.substr(0, at_));
  out.append("<").append(values_text()).append(">");
  return out.append(first.substr(at_ + size_));
}

}  // namespace dlaunch
