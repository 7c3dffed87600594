#include "jobfile/expectation.h"

#include <array>
#include <utility>

#include "jobfile/diagnostics.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int32_t>::max();

std::string integer_text(const Field& field) {
  std::string out = "a whole number";
  if (field.max >= kUnlimited) {
    if (field.min > 0) out += " of " + std::to_string(field.min) + " or more";
  } else {
    out += " from " + std::to_string(field.min) + " to " + std::to_string(field.max);
  }
  return out;
}

std::string one_of(const Field& field) {
  return (field.words.size() == 1 ? "" : "one of ") + joined(spellings(field));
}

std::string or_words(const Field& field) {
  return field.words.empty() ? "" : ", or " + one_of(field);
}

bool is_list_kind(Kind kind) {
  return kind == Kind::text_list || kind == Kind::name_list || kind == Kind::name_pattern_list ||
         kind == Kind::integer_list || kind == Kind::choice_list || kind == Kind::record_list;
}

bool takes_text(Kind kind) {
  return kind == Kind::text || kind == Kind::duration || kind == Kind::size ||
         kind == Kind::choice || kind == Kind::signal || kind == Kind::duration_range;
}

// The correction for a duration or a size without its unit: "30", "16".
std::string unit_correction(const Field& field, const Node& node) {
  const auto number = parse_integer(node.text);
  if (!number || *number < 0) return "";
  const char* unit = field.kind != Kind::size ? "s"
                     : *number <= 256         ? "g"
                     : *number < 1'000'000    ? "m"
                                              : "b";
  return "; add a unit, for example " + std::to_string(*number) + unit;
}

std::string boolean_correction(const Node& node) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kMeant{{{"yes", "true"},
                                                                                 {"on", "true"},
                                                                                 {"y", "true"},
                                                                                 {"1", "true"},
                                                                                 {"no", "false"},
                                                                                 {"off", "false"},
                                                                                 {"n", "false"},
                                                                                 {"0", "false"}}};
  for (const auto& [text, meant] : kMeant) {
    if (node.text == text) return "; write " + std::string(meant);
  }
  return "";
}

}  // namespace

std::string expectation(const Field& field) {
  switch (field.kind) {
    case Kind::text:
      return "a string";
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return integer_text(field) + or_words(field);
    case Kind::number:
      return "a number above 0" + or_words(field);
    case Kind::choice:
      return one_of(field);
    case Kind::duration:
      return "a duration such as 30s, 5m or 1h30m" + or_words(field);
    case Kind::duration_range:
      return "a range of durations such as 5s..5m";
    case Kind::size:
      return "a size such as 512m or 16g";
    case Kind::signal:
      return "a signal name such as TERM, INT or USR1";
    case Kind::text_list:
      return "a list of strings";
    case Kind::name_list:
      return "a list of variable names";
    case Kind::name_pattern_list:
      return "a list of variable names or patterns";
    case Kind::integer_list:
      return "a list of whole numbers";
    case Kind::choice_list:
      return "a list of " + joined(spellings(field));
    case Kind::choice_or_integers:
      return one_of(field) + ", or a list of whole numbers";
    case Kind::environment:
      return "a mapping such as {NCCL_DEBUG: WARN}";
    case Kind::text_map:
      return "a mapping of names to strings";
    case Kind::command:
      return "a string or a list of strings";
    case Kind::record_list:
      return (field.record == "hosts[]." ? "a list of hosts, a string such as gpu[01-04]"
                                         : "a list") +
             or_words(field);
  }
  return "";
}

std::string found_instead(const Node& node) {
  switch (node.kind) {
    case NodeKind::null:
      return "nothing";
    case NodeKind::sequence:
      return "a list";
    case NodeKind::mapping:
      return "a mapping";
    case NodeKind::scalar:
      break;
  }
  const PlainType type = node.plain ? type_of_plain(node.text) : PlainType::text;
  if (type == PlainType::integer || type == PlainType::floating) return "the number " + node.text;
  if (type == PlainType::boolean) return "the boolean " + node.text;
  return (node.plain ? "" : "the string ") + in_quotes(node.text);
}

std::string correction(const Field& field, const Node& node) {
  if (node.kind != NodeKind::scalar) return "";
  if (is_list_kind(field.kind)) {
    const std::string quoted = in_quotes(node.text);
    // Text that cannot be printed cannot be copied from a message either.
    if (quoted != '"' + node.text + '"') return "; write [...]";
    const bool simple = node.text.find_first_of(",[]{}\n") == std::string::npos && node.plain;
    const std::string item = simple ? node.text : quoted;
    return "; write [" + item + ']';
  }
  const PlainType type = type_of_plain(node.text);
  const bool wants_number = field.kind == Kind::integer || field.kind == Kind::number;
  if (!node.plain && wants_number && (type == PlainType::integer || type == PlainType::floating)) {
    return "; remove the quotes";
  }
  if (field.kind == Kind::boolean) {
    if (!node.plain && type == PlainType::boolean) return "; remove the quotes";
    return boolean_correction(node);
  }
  if (field.kind == Kind::text && node.plain) return "; put it in quotes: \"" + node.text + "\"";
  if (field.kind == Kind::duration || field.kind == Kind::size) {
    if (const std::string unit = unit_correction(field, node); !unit.empty()) return unit;
  }
  if (takes_text(field.kind) || wants_number) {
    if (const auto near = nearest(node.text, spellings(field))) {
      return ", did you mean \"" + std::string(*near) + "\"?";
    }
  }
  return "";
}

std::string duration_text(Duration duration) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits{
      {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
  std::int64_t rest = duration.count();
  std::string out;
  for (const auto& [name, factor] : kUnits) {
    if (rest / factor != 0) out += std::to_string(rest / factor) + std::string(name);
    rest %= factor;
  }
  return out.empty() ? "0s" : out;
}

}  // namespace dlaunch::jobfile
