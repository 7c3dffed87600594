// The inverse of parse_hostlist: names that differ in one number are written as one item.
#include <cstdint>

#include "spec/hostlist.h"
#include "spec/number_range.h"

namespace dlaunch::spec {

namespace {

/// A name cut into texts and runs of digits: "r1n02" is "r" "1" "n" "02".
std::vector<std::string_view> pieces_of(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
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

/// The only piece in which two names differ, if both have a number there; else kNone.
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

/// "1-3,07,9" for the digits of the names, in their order.
class RangeText {
 public:
  void add(std::string_view digits) {
    const NumberRange number = *parse_number_range(digits);
    const bool continues =
        begun_ && number.first == open_.last + 1 && digits == padded(number.first, open_.width);
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
    text_ += padded(open_.first, open_.width);
    if (open_.last != open_.first) text_ += '-' + padded(open_.last, open_.width);
  }

  bool begun_ = false;
  NumberRange open_;
  std::string text_;
};

std::string joined(const std::vector<std::string_view>& pieces, std::size_t begin,
                   std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += pieces[i];
  return text;
}

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
    text += joined(first, 0, number) + '[' + range.take() + ']' +
            joined(first, number + 1, first.size());
  }
  return text;
}

}  // namespace dlaunch::spec
