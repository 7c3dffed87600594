#include "spec/value_schema.h"

#include <limits>

#include "model/signal_names.h"
#include "spec/fields.h"
#include "spec/scalar.h"

namespace dlaunch::spec {

namespace {

constexpr std::string_view kScalar = R"(["string","number","boolean"])";
constexpr std::string_view kNotBlank = R"([^ \t\n])";
constexpr std::string_view kVariableName = "^[A-Za-z_][A-Za-z0-9_]*$";
constexpr std::string_view kVariablePattern = R"(^[A-Za-z_*?][A-Za-z0-9_*?]*$)";
constexpr std::string_view kDuration =
    "(?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?";
constexpr std::string_view kNotZero = "(?=[^1-9]*[1-9])";
constexpr std::string_view kSize = "^(?=[^1-9]*[1-9])[0-9]+([bB]|[kKmMgGtT]([iI]?[bB])?)$";

std::vector<std::string_view> usable_words(const Field& field) {
  std::vector<std::string_view> texts;
  for (const Word& word : field.words) {
    if (word.availability == Availability::available) texts.push_back(word.text);
  }
  return texts;
}

JsonObject of_type(std::string_view type) {
  return JsonObject().put_string("type", type);
}

JsonObject text_like(std::string_view pattern) {
  return of_type("string").put_string("pattern", pattern);
}

JsonObject word_schema(const Field& field) {
  return JsonObject().put("enum", json_strings(usable_words(field)));
}

JsonObject integer_schema(const Field& field) {
  JsonObject schema = of_type("integer").put_number("minimum", field.min);
  if (field.max < std::numeric_limits<std::int32_t>::max()) schema.put_number("maximum", field.max);
  return schema;
}

/// `schema`, or one of the words where the field has some.
JsonObject or_words(const Field& field, JsonObject schema) {
  if (usable_words(field).empty()) return schema;
  return JsonObject().put("anyOf", json_array({schema.text(), word_schema(field).text()}));
}

JsonObject list_of(const JsonObject& items) {
  return of_type("array").put("items", items.text());
}

std::string duration_pattern(const Field& field) {
  return "^" + std::string(field.min > 0 ? kNotZero : "") + std::string(kDuration) + "$";
}

/// "TERM" in any case is [Tt][Ee][Rr][Mm]: patterns have no flags.
std::string in_any_case(std::string_view word) {
  std::string pattern;
  for (const char c : word) {
    const bool is_letter = c >= 'A' && c <= 'Z';
    pattern +=
        is_letter ? std::string{'[', c, static_cast<char>(c - 'A' + 'a'), ']'} : std::string(1, c);
  }
  return pattern;
}

std::string signal_pattern() {
  constexpr int kSignals = 64;
  std::string names;
  for (int number = 1; number <= kSignals; ++number) {
    const std::string name = signal_name(number);
    if (name.starts_with("SIG"))
      names += (names.empty() ? "" : "|") + in_any_case(std::string_view(name).substr(3));
  }
  return "^(" + in_any_case("SIG") + ")?(" + names + ")$";
}

JsonObject environment_schema() {
  return of_type("object")
      .put("propertyNames", JsonObject().put_string("pattern", kVariableName).text())
      .put("additionalProperties", JsonObject().put("type", kScalar).text());
}

/// A text for the shell, or a program with its arguments; numbers are taken as they are spelt.
JsonObject command_schema() {
  const JsonObject line = JsonObject().put("type", kScalar).put_string("pattern", kNotBlank);
  const JsonObject program = JsonObject().put("type", kScalar).put_number("minLength", 1);
  const JsonObject arguments = of_type("array")
                                   .put("prefixItems", json_array({program.text()}))
                                   .put("items", JsonObject().put("type", kScalar).text())
                                   .put_number("minItems", 1);
  return JsonObject().put("anyOf", json_array({line.text(), arguments.text()}));
}

JsonObject choice_or_integers_schema(const Field& field) {
  if (field.list_availability == Availability::not_yet) return word_schema(field);
  return or_words(field, list_of(integer_schema(field)));
}

}  // namespace

JsonObject value_schema(const Field& field) {
  switch (field.kind) {
    case Kind::text:
      return text_like(field.pattern.empty() ? kNotBlank : field.pattern);
    case Kind::boolean:
      return of_type("boolean");
    case Kind::integer:
      return or_words(field, integer_schema(field));
    case Kind::number:
      return or_words(field, of_type("number").put_number("exclusiveMinimum", 0));
    case Kind::choice:
      return word_schema(field);
    case Kind::duration:
      return or_words(field, text_like(duration_pattern(field)));
    case Kind::duration_range:
      return text_like("^" + std::string(kDuration) + R"(\.\.)" + std::string(kDuration) + "$");
    case Kind::size:
      return text_like(kSize);
    case Kind::signal:
      return text_like(signal_pattern());
    case Kind::text_list:
      if (!field.pattern.empty()) return list_of(text_like(field.pattern));
      return list_of(of_type("string").put_number("minLength", 1));
    case Kind::name_list:
      return list_of(text_like(kVariableName));
    case Kind::name_pattern_list:
      return list_of(text_like(kVariablePattern));
    case Kind::integer_list:
      return list_of(integer_schema(field));
    case Kind::choice_list:
      return list_of(word_schema(field));
    case Kind::choice_or_integers:
      return choice_or_integers_schema(field);
    case Kind::environment:
      return environment_schema();
    case Kind::text_map:
      return of_type("object").put("additionalProperties", of_type("string").text());
    case Kind::command:
      return command_schema();
    case Kind::record_list:
      return usable_words(field).empty() ? JsonObject() : word_schema(field);
  }
  return {};
}

std::string default_json(const Field& field) {
  if (field.fallback.empty()) return "";
  if (field.fallback.front() != '[') {
    const PlainType type = type_of_plain(field.fallback);
    const bool is_literal = type == PlainType::integer || type == PlainType::boolean;
    return is_literal ? std::string(field.fallback) : json_string(field.fallback);
  }
  // A list of words, as the table writes it: [failure, node-loss].
  std::vector<std::string_view> words;
  std::string_view rest = field.fallback.substr(1, field.fallback.size() - 2);
  while (!rest.empty()) {
    const auto comma = rest.find(", ");
    words.push_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
  }
  return json_strings(words);
}

}  // namespace dlaunch::spec
