#include "jobfile/scalar.h"

#include <array>
#include <cmath>
#include <limits>

#include "text/number.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

std::size_t digits_at(std::string_view text, std::size_t i) {
  std::size_t n = 0;
  while (i + n < text.size() && is_digit(text[i + n])) ++n;
  return n;
}

bool consists_of(std::string_view text, std::string_view alphabet) {
  return !text.empty() && text.find_first_not_of(alphabet) == std::string_view::npos;
}

bool is_core_integer(std::string_view text) {
  if (text.substr(0, 2) == "0o") return consists_of(text.substr(2), "01234567");
  if (text.substr(0, 2) == "0x") return consists_of(text.substr(2), "0123456789abcdefABCDEF");
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return consists_of(text, "0123456789");
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_core_float(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return true;
  std::size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::string_view rest = text.substr(i);
  if (rest == ".inf" || rest == ".Inf" || rest == ".INF") return true;
  const std::size_t whole = digits_at(text, i);
  i += whole;
  if (i < text.size() && text[i] == '.') {
    const std::size_t fraction = digits_at(text, ++i);
    if (whole == 0 && fraction == 0) return false;
    i += fraction;
  } else if (whole == 0) {
    return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    const std::size_t exponent = digits_at(text, i);
    if (exponent == 0) return false;
    i += exponent;
  }
  return i == text.size();
}

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// From large to small.
constexpr std::array<Unit, 5> kTimeUnits{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

std::optional<std::int64_t> scaled(std::string_view digits, std::int64_t factor) {
  const auto number = parse_integer(digits);
  if (!number || *number > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
  return *number * factor;
}

}  // namespace

PlainType type_of_plain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return PlainType::null;
  }
  if (text == "true" || text == "True" || text == "TRUE" || text == "false" || text == "False" ||
      text == "FALSE") {
    return PlainType::boolean;
  }
  if (is_core_integer(text)) return PlainType::integer;
  return is_core_float(text) ? PlainType::floating : PlainType::text;
}

bool is_plain_type(const Node& node, PlainType type) {
  return node.kind == NodeKind::scalar && node.plain && type_of_plain(node.text) == type;
}

bool is_text(const Node& node) {
  return node.kind == NodeKind::scalar && (!node.plain || is_plain_type(node, PlainType::text));
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (!is_core_integer(text)) return std::nullopt;
  int base = 10;
  if (text.substr(0, 2) == "0o") base = 8;
  if (text.substr(0, 2) == "0x") base = 16;
  if (base != 10) text.remove_prefix(2);
  if (text[0] == '+') text.remove_prefix(1);
  return number_of<std::int64_t>(text, base);
}

std::optional<double> parse_number(std::string_view text) {
  if (const auto integer = parse_integer(text)) return static_cast<double>(*integer);
  if (!is_core_float(text)) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  const auto value = number_of<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<Duration> parse_duration(std::string_view text) {
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t digits = digits_at(text, i);
    if (digits == 0) return std::nullopt;
    std::size_t end = i + digits;
    while (end < text.size() && !is_digit(text[end])) ++end;
    const std::string_view name = text.substr(i + digits, end - i - digits);
    while (next_unit < kTimeUnits.size() && kTimeUnits[next_unit].name != name) ++next_unit;
    if (next_unit == kTimeUnits.size()) return std::nullopt;
    const auto part = scaled(text.substr(i, digits), kTimeUnits[next_unit].factor);
    if (!part || *part > kMaxDuration.count() - total) return std::nullopt;
    total += *part;
    ++next_unit;
    i = end;
  }
  if (text.empty()) return std::nullopt;
  return Duration(total);
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  const std::size_t digits = digits_at(text, 0);
  const std::string unit = lower(text.substr(digits));
  if (digits == 0 || unit.empty()) return std::nullopt;
  if (unit == "b") return scaled(text.substr(0, digits), 1);
  constexpr std::array<Unit, 4> kUnits{
      {{"k", 1LL << 10}, {"m", 1LL << 20}, {"g", 1LL << 30}, {"t", 1LL << 40}}};
  for (const Unit& known : kUnits) {
    const std::string name(known.name);
    if (unit == name || unit == name + "b" || unit == name + "ib") {
      return scaled(text.substr(0, digits), known.factor);
    }
  }
  return std::nullopt;
}

}  // namespace dlaunch::jobfile
