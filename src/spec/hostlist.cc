#include "spec/hostlist.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <variant>

#include "spec/diagnostics.h"
#include "spec/excerpt.h"
#include "spec/host_name.h"
#include "spec/number_range.h"

namespace dlaunch::spec {

namespace {

constexpr std::int64_t kMostSlots = 100'000;  // as in the field table
constexpr std::string_view kSeparators = ", \t\r\n";

/// Leaves the parser from anywhere; never leaves this file.
struct Refusal {
  TextProblem problem;
};

using Numbers = std::vector<NumberRange>;
/// A stretch of a name: as it is, or the numbers of a pair of brackets.
using Part = std::variant<std::string_view, Numbers>;

std::uint64_t count_of(const Part& part) {
  const auto* ranges = std::get_if<Numbers>(&part);
  if (ranges == nullptr) return 1;
  std::uint64_t count = 0;
  for (const NumberRange& range : *ranges) count += range.last - range.first + 1;
  return count;
}

/// Of the texts that the part stands for.
std::size_t longest_of(const Part& part) {
  if (const auto* literal = std::get_if<std::string_view>(&part)) return literal->size();
  std::size_t longest = 0;
  for (const NumberRange& range : std::get<Numbers>(part))
    longest = std::max(longest, padded(range.last, range.width).size());
  return longest;
}

std::vector<std::string> texts_of(const Part& part) {
  if (const auto* literal = std::get_if<std::string_view>(&part)) return {std::string(*literal)};
  std::vector<std::string> texts;
  for (const NumberRange& range : std::get<Numbers>(part)) {
    for (std::uint64_t number = range.first; number <= range.last; ++number) {
      texts.push_back(padded(number, range.width));
    }
  }
  return texts;
}

class Parser {
 public:
  Parser(std::string_view text, bool only_count) : text_(text), only_count_(only_count) {}

  /// Fills hosts() unless it only counts.
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
        {Place{0, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)},
         std::move(message)}};
  }

  /// Commas inside brackets do not end an item.
  [[nodiscard]] std::size_t end_of_item(std::size_t begin) const {
    std::size_t open = std::string_view::npos;
    for (std::size_t i = begin; i < text_.size(); ++i) {
      const char c = text_[i];
      if (open == std::string_view::npos) {
        if (kSeparators.find(c) != std::string_view::npos) return i;
        if (c == ']') refuse(i, i + 1, "this ']' was not opened");
        if (c == '[') open = i;
      } else if (c == ']') {
        open = std::string_view::npos;
      } else if (c == '[') {
        refuse(i, i + 1, "brackets cannot stand inside brackets");
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
               "behind an address in brackets stands its number of slots or nothing");
      expand(begin, end, {text_.substr(begin + 1, close - begin - 1)}, entry);
      return;
    }
    const bool is_address = is_ipv6(text_.substr(begin, end - begin));
    const std::size_t name_end = is_address ? end : take_slots(begin, end, entry);
    const std::vector<Part> parts = is_address ? std::vector<Part>{text_.substr(begin, end - begin)}
                                               : parts_of_name(begin, name_end);
    expand(begin, name_end, parts, entry);
  }

  /// Of "[fe80::1]" or "[fe80::1]:8": where the bracket closes; else `begin`. Brackets keep the
  /// colons of the address from that of the slots (RFC 3986, section 3.2.2).
  [[nodiscard]] std::size_t end_of_bracketed_address(std::size_t begin, std::size_t end) const {
    if (text_[begin] != '[') return begin;
    const std::size_t close = text_.find(']', begin);
    const bool is_address = close < end && is_ipv6(text_.substr(begin + 1, close - begin - 1));
    return is_address ? close : begin;
  }

  [[nodiscard]] std::string user_name(std::size_t begin, std::size_t end) const {
    if (begin == end) refuse(begin, begin + 1, "the name of the user is missing before '@'");
    // A program like ssh would take a leading dash for an option.
    if (text_[begin] == '-') refuse(begin, end, "a user name cannot begin with '-'");
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_name_character(text_[i])) refuse_character(i, "a user name");
    }
    return std::string(text_.substr(begin, end - begin));
  }

  /// Takes ":8" off the end of an item; returns where the name ends.
  std::size_t take_slots(std::size_t begin, std::size_t end, HostEntry& entry) const {
    // Only the item is searched: a list may hold a hundred thousand of them.
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
    std::size_t end = at + 1;  // all bytes of a character beyond ASCII
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
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
    if (close == open + 1) refuse(open, close + 1, "these brackets hold no number");
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
    refuse(begin, end, "that is more than " + std::to_string(kMostHosts) + " hosts");
  }

  /// Counts all combinations, and appends them, the last part counting fastest.
  void expand(std::size_t begin, std::size_t end, const std::vector<Part>& parts,
              const HostEntry& pattern) {
    if (parts.size() > kMostNameLength) refuse_length(begin, end);
    std::uint64_t total = 1;
    std::size_t longest = 0;
    for (const Part& part : parts) {
      const std::uint64_t room = kMostHosts - count_;
      if (count_of(part) > room || (total *= count_of(part)) > room) refuse_size(begin, end);
      longest += longest_of(part);
    }
    if (longest > kMostNameLength) refuse_length(begin, end);
    count_ += total;
    if (!only_count_) append(parts, pattern, total);
  }

  void append(const std::vector<Part>& parts, const HostEntry& pattern, std::uint64_t total) {
    std::vector<std::vector<std::string>> texts;
    for (const Part& part : parts) texts.push_back(texts_of(part));
    std::vector<std::size_t> digits(parts.size(), 0);  // which text of each part is next
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
  const Location at = locate(text, problem.place.offset);
  std::string where = std::string(name);
  if (at.line > 1) where += ", line " + std::to_string(at.line);
  where += ", character " + std::to_string(at.column) + ": ";
  return fail(exit_code::kJobFile, where + problem.message + "\n" + excerpt(text, problem.place));
}

}  // namespace dlaunch::spec
