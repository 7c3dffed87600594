#include "jobfile/hostlist.h"

#include <tl/expected.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "jobfile/diagnostics.h"
#include "jobfile/host_name.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch::jobfile {

namespace {

// A range that includes both ends.
struct NumberRange {
  std::uint64_t first = 0;  // at most 18 digits
  std::uint64_t last = 0;   // not less than `first`
  std::size_t width = 1;    // minimum digits of each number: those of `first` as written

  bool operator==(const NumberRange&) const = default;
};

constexpr std::size_t kMostDigits = 18;  // always fits 64 bits

tl::expected<std::uint64_t, std::string> digits_to_number(std::string_view digits,
                                                          std::string_view whole) {
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) {
    std::string message = in_quotes(whole) + " is not a number or a range such as 01-16";
    if (whole.find('/') != std::string_view::npos)
      message += "; steps (/2) are not supported, list the numbers";
    else if (whole.find(':') != std::string_view::npos)
      message += "; write an IPv6 address without brackets";
    return tl::unexpected(message);
  }
  if (digits.size() > kMostDigits) {
    return tl::unexpected("a number has at most " + std::to_string(kMostDigits) + " digits here");
  }
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// Parses "7" or "001-016"; otherwise returns the problem as a phrase.
tl::expected<NumberRange, std::string> parse_number_range(std::string_view text) {
  const auto dash = text.find('-');
  const std::string_view first_digits = text.substr(0, dash);
  const auto first = digits_to_number(first_digits, text);
  if (!first) return tl::unexpected(first.error());
  if (dash == std::string_view::npos) return NumberRange{*first, *first, first_digits.size()};
  const std::string_view last_digits = text.substr(dash + 1);
  const auto last = digits_to_number(last_digits, text);
  if (!last) return tl::unexpected(last.error());
  if (first_digits.empty()) return tl::unexpected(std::string("this range has no start"));
  if (last_digits.empty()) return tl::unexpected(std::string("this range has no end"));
  if (*last < *first)
    return tl::unexpected(std::string("this range goes from the larger number to the smaller one"));
  return NumberRange{*first, *last, first_digits.size()};
}

// The number, with leading zeros up to `width` digits.
std::string zero_padded(std::uint64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

constexpr std::int64_t kMostSlots = 100'000;  // as in the field table
constexpr std::string_view kSeparators = ", \t\r\n";

/// Thrown to leave the parser; never leaves this file.
struct Refusal {
  TextProblem problem;
};

using Numbers = std::vector<NumberRange>;
/// A part of a name: literal text, or the numbers of a pair of brackets.
using Part = std::variant<std::string_view, Numbers>;

std::uint64_t names_in(const Part& part) {
  const auto* ranges = std::get_if<Numbers>(&part);
  if (ranges == nullptr) return 1;
  std::uint64_t count = 0;
  for (const NumberRange& range : *ranges) count += range.last - range.first + 1;
  return count;
}

/// The length of the longest text that the part expands to.
std::size_t longest_of(const Part& part) {
  if (const auto* literal = std::get_if<std::string_view>(&part)) return literal->size();
  std::size_t longest = 0;
  for (const NumberRange& range : std::get<Numbers>(part))
    longest = std::max(longest, zero_padded(range.last, range.width).size());
  return longest;
}

std::vector<std::string> texts_of(const Part& part) {
  if (const auto* literal = std::get_if<std::string_view>(&part)) return {std::string(*literal)};
  std::vector<std::string> texts;
  for (const NumberRange& range : std::get<Numbers>(part)) {
    for (std::uint64_t number = range.first; number <= range.last; ++number) {
      texts.push_back(zero_padded(number, range.width));
    }
  }
  return texts;
}

class Parser {
 public:
  Parser(std::string_view text, bool only_count) : text_(text), only_count_(only_count) {}

  /// Returns the number of hosts, and fills hosts() unless the parser only counts.
  std::size_t parse() {
    std::size_t begin = 0;
    while ((begin = text_.find_first_not_of(kSeparators, begin)) != std::string_view::npos) {
      const std::size_t end = end_of_item(begin);
      parse_item(begin, end);
      begin = end;
    }
    return count_;
  }

  [[nodiscard]] std::vector<HostEntry>& hosts() { return hosts_; }

 private:
  [[noreturn]] void refuse(std::size_t begin, std::size_t end, std::string message) const {
    throw Refusal{
        {SourceRange{0, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)},
         std::move(message)}};
  }

  /// Commas inside brackets do not end an item.
  [[nodiscard]] std::size_t end_of_item(std::size_t begin) const {
    std::size_t open = std::string_view::npos;
    for (std::size_t i = begin; i < text_.size(); ++i) {
      const char c = text_[i];
      if (open == std::string_view::npos) {
        if (kSeparators.find(c) != std::string_view::npos) return i;
        if (c == ']') refuse(i, i + 1, "this ']' has no matching '['");
        if (c == '[') open = i;
      } else if (c == ']') {
        open = std::string_view::npos;
      } else if (c == '[') {
        refuse(i, i + 1, "brackets cannot be nested");
      }
    }
    if (open != std::string_view::npos) refuse(open, open + 1, "this '[' is not closed with ']'");
    return text_.size();
  }

  void parse_item(std::size_t begin, std::size_t end) {
    HostEntry entry;
    const auto at = text_.substr(begin, end - begin).find('@');
    if (at != std::string_view::npos) {
      entry.user = user_name(begin, begin + at);
      begin += at + 1;
      if (begin == end) refuse(begin - 1, begin, "the name of the host is missing after '@'");
    }
    if (const std::size_t close = end_of_bracketed_address(begin, end); close != begin) {
      if (take_slots(begin, end, entry) != close + 1)
        refuse(close + 1, end,
               "an address in brackets may only be followed by ':' and a number of slots");
      expand(begin, end, {text_.substr(begin + 1, close - begin - 1)}, entry);
      return;
    }
    const bool is_address = is_ipv6(text_.substr(begin, end - begin));
    const std::size_t name_end = is_address ? end : take_slots(begin, end, entry);
    const std::vector<Part> parts = is_address ? std::vector<Part>{text_.substr(begin, end - begin)}
                                               : parts_of_name(begin, name_end);
    expand(begin, name_end, parts, entry);
  }

  /// For "[fe80::1]" or "[fe80::1]:8", the position of the closing bracket; otherwise `begin`.
  /// Brackets separate the colons of the address from the one before the slots (RFC 3986, section
  /// 3.2.2).
  [[nodiscard]] std::size_t end_of_bracketed_address(std::size_t begin, std::size_t end) const {
    if (text_[begin] != '[') return begin;
    const std::size_t close = text_.find(']', begin);
    const bool is_address = close < end && is_ipv6(text_.substr(begin + 1, close - begin - 1));
    return is_address ? close : begin;
  }

  [[nodiscard]] std::string user_name(std::size_t begin, std::size_t end) const {
    if (begin == end) refuse(begin, begin + 1, "the name of the user is missing before '@'");
    // ssh and similar programs would read a leading dash as an option.
    if (text_[begin] == '-') refuse(begin, end, "a user name cannot begin with '-'");
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_name_character(text_[i])) refuse_character(i, "a user name");
    }
    return std::string(text_.substr(begin, end - begin));
  }

  /// Removes ":8" from the end of an item; returns where the name ends.
  std::size_t take_slots(std::size_t begin, std::size_t end, HostEntry& entry) const {
    // Search only the item, because a list may have a hundred thousand items.
    const std::string_view item = text_.substr(begin, end - begin);
    const std::size_t last_bracket = item.rfind(']');
    const std::size_t found =
        item.find(':', last_bracket == std::string_view::npos ? 0 : last_bracket);
    if (found == std::string_view::npos) return end;
    const std::size_t colon = begin + found;
    const std::string_view digits = text_.substr(colon + 1, end - colon - 1);
    const bool is_number =
        !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number) {
      refuse(colon, end, "what follows ':' must be a number of slots, as in \"gpu[01-04]:8\"");
    }
    std::int64_t slots = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), slots);
    if (error != std::errc() || slots < 1 || slots > kMostSlots) {
      refuse(colon + 1, end, "a host has 1 to " + std::to_string(kMostSlots) + " slots");
    }
    if (colon == begin) refuse(begin, end, "the name of the host is missing before ':'");
    entry.slots = static_cast<int>(slots);
    return colon;
  }

  [[noreturn]] void refuse_character(std::size_t at, const char* of) const {
    std::size_t end = at + 1;  // all bytes of a non-ASCII character
    while (end < text_.size() && is_utf8_continuation(text_[end])) ++end;
    refuse(at, end, in_quotes(text_.substr(at, end - at)) + " cannot be part of " + of);
  }

  [[nodiscard]] std::vector<Part> parts_of_name(std::size_t begin, std::size_t end) const {
    if (text_[begin] == '-') refuse(begin, end, "a host name cannot begin with '-'");
    std::vector<Part> parts;
    std::size_t literal = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (text_[i] != '[') {
        if (!is_name_character(text_[i])) refuse_character(i, "a host name");
        continue;
      }
      if (i > literal) parts.emplace_back(text_.substr(literal, i - literal));
      const std::size_t close = text_.find(']', i);
      parts.emplace_back(numbers_in(i, close));
      i = close;
      literal = close + 1;
    }
    if (end > literal) parts.emplace_back(text_.substr(literal, end - literal));
    return parts;
  }

  [[nodiscard]] Numbers numbers_in(std::size_t open, std::size_t close) const {
    if (close == open + 1) refuse(open, close + 1, "these brackets are empty");
    Numbers ranges;
    for (std::size_t begin = open + 1; begin <= close;) {
      const std::size_t end = std::min(text_.find(',', begin), close);
      ranges.push_back(range_in(begin, end));
      begin = end + 1;
    }
    return ranges;
  }

  [[nodiscard]] NumberRange range_in(std::size_t begin, std::size_t end) const {
    if (begin == end) refuse(begin - 1, begin + 1, "a number is missing here");
    const auto range = parse_number_range(text_.substr(begin, end - begin));
    if (!range) refuse(begin, end, range.error());
    if (range->last - range->first >= kMostHosts) refuse_size(begin, end);
    return *range;
  }

  [[noreturn]] void refuse_length(std::size_t begin, std::size_t end) const {
    refuse(begin, end,
           "a host name has at most " + std::to_string(kMostNameLength) + " characters");
  }

  [[noreturn]] void refuse_size(std::size_t begin, std::size_t end) const {
    refuse(begin, end, "this names more than " + std::to_string(kMostHosts) + " hosts");
  }

  /// Counts all combinations and, unless the parser only counts, appends them. The last part varies
  /// fastest.
  void expand(std::size_t begin, std::size_t end, const std::vector<Part>& parts,
              const HostEntry& pattern) {
    if (parts.size() > kMostNameLength) refuse_length(begin, end);
    std::uint64_t total = 1;
    std::size_t longest = 0;
    for (const Part& part : parts) {
      const std::uint64_t room = kMostHosts - count_;
      if (names_in(part) > room || (total *= names_in(part)) > room) refuse_size(begin, end);
      longest += longest_of(part);
    }
    if (longest > kMostNameLength) refuse_length(begin, end);
    count_ += total;
    if (!only_count_) append(parts, pattern, total);
  }

  void append(const std::vector<Part>& parts, const HostEntry& pattern, std::uint64_t total) {
    std::vector<std::vector<std::string>> texts;
    texts.reserve(parts.size());
    for (const Part& part : parts) texts.push_back(texts_of(part));
    std::vector<std::size_t> digits(parts.size(), 0);  // index of the next text of each part
    for (std::uint64_t i = 0; i < total; ++i) {
      HostEntry entry = pattern;
      for (std::size_t p = 0; p < texts.size(); ++p) entry.name += texts[p][digits[p]];
      hosts_.push_back(std::move(entry));
      for (std::size_t p = texts.size(); p-- > 0 && ++digits[p] == texts[p].size();) digits[p] = 0;
    }
  }

  std::string_view text_;
  bool only_count_;
  std::uint64_t count_ = 0;
  std::vector<HostEntry> hosts_;
};

}  // namespace

tl::expected<std::vector<HostEntry>, TextProblem> parse_hostlist(std::string_view text) {
  try {
    Parser parser(text, false);
    parser.parse();
    return std::move(parser.hosts());
  } catch (const Refusal& refusal) {
    return tl::unexpected(refusal.problem);
  }
}

tl::expected<std::size_t, TextProblem> count_hosts(std::string_view text) {
  try {
    return Parser(text, true).parse();
  } catch (const Refusal& refusal) {
    return tl::unexpected(refusal.problem);
  }
}

Result<std::vector<HostEntry>> expand_hostlist(std::string_view text, std::string_view name) {
  auto hosts = parse_hostlist(text);
  if (hosts) return std::move(*hosts);
  const TextProblem& problem = hosts.error();
  const Location at = locate(text, problem.range.offset);
  std::string where = std::string(name);
  if (at.line > 1) where += ", line " + std::to_string(at.line);
  where += ", character " + std::to_string(at.column) + ": ";
  return fail(exit_code::kJobFile, where + problem.message + "\n" + excerpt(text, problem.range));
}

namespace {

/// Splits a name into text and runs of digits: "r1n02" is "r" "1" "n" "02".
std::vector<std::string_view> pieces_of(std::string_view name) {
  std::vector<std::string_view> pieces;
  for (std::size_t begin = 0; begin < name.size();) {
    std::size_t end = begin + 1;
    while (end < name.size() && is_digit(name[end]) == is_digit(name[begin])) ++end;
    pieces.push_back(name.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The only piece in which two names differ, if both have a number there; otherwise kNone.
std::size_t differing_number(const std::vector<std::string_view>& a,
                             const std::vector<std::string_view>& b) {
  if (a.size() != b.size()) return kNone;
  std::size_t found = kNone;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (found != kNone || !parse_number_range(a[i]) || !parse_number_range(b[i])) return kNone;
    found = i;
  }
  return found;
}

/// Builds "1-3,07,9" from the digits of the names, in the order of the names.
class RangeText {
 public:
  void add(std::string_view digits) {
    const NumberRange number = *parse_number_range(digits);
    const bool continues = begun_ && number.first == open_.last + 1 &&
                           digits == zero_padded(number.first, open_.width);
    if (continues) {
      ++open_.last;
      return;
    }
    flush();
    open_ = number;
    begun_ = true;
  }

  std::string take() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    if (!begun_) return;
    if (!text_.empty()) text_ += ',';
    text_ += zero_padded(open_.first, open_.width);
    if (open_.last != open_.first) text_ += '-' + zero_padded(open_.last, open_.width);
  }

  bool begun_ = false;
  NumberRange open_;
  std::string text_;
};

}  // namespace

std::string compress_hostlist(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size();) {
    const auto first = pieces_of(names[i]);
    // An IPv6 address takes no brackets.
    const bool is_address = names[i].find(':') != std::string::npos;
    const std::size_t number = is_address || i + 1 == names.size()
                                   ? kNone
                                   : differing_number(first, pieces_of(names[i + 1]));
    if (!text.empty()) text += ',';
    if (number == kNone) {
      text += names[i++];
      continue;
    }
    RangeText range;
    for (; i < names.size(); ++i) {
      const auto pieces = pieces_of(names[i]);
      if (pieces != first && differing_number(first, pieces) != number) break;
      range.add(pieces[number]);
    }
    text += joined(std::span(first).first(number), "") + '[' + range.take() + ']' +
            joined(std::span(first).subspan(number + 1), "");
  }
  return text;
}

}  // namespace dlaunch::jobfile
