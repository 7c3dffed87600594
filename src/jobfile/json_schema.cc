#include "jobfile/json_schema.h"

#include <limits>
#include <sstream>
#include <vector>

#include "jobfile/field_table.h"
#include "jobfile/job_rules.h"
#include "jobfile/scalar.h"
#include "model/rank_variables.h"
#include "model/signal_names.h"
#include "text/json_text.h"

namespace dlaunch::jobfile {

namespace {

/// The offset after the string that begins at `i`.
std::size_t end_of_string(std::string_view json, std::size_t i) {
  for (++i; i < json.size() && json[i] != '"'; ++i) {
    if (json[i] == '\\') ++i;
  }
  return i + 1;
}

/// The offset after an array without objects; npos: the array contains an object.
std::size_t end_of_flat_array(std::string_view json, std::size_t i) {
  for (int depth = 0; i < json.size();) {
    const char c = json[i];
    if (c == '{') return std::string_view::npos;
    if (c == '"') {
      i = end_of_string(json, i);
      continue;
    }
    if (c == '[') ++depth;
    if (c == ']' && --depth == 0) return i + 1;
    ++i;
  }
  return std::string_view::npos;
}

/// Adds a space after each comma outside of strings.
std::string spaced(std::string_view flat) {
  std::string out;
  for (std::size_t i = 0; i < flat.size();) {
    const std::size_t end = flat[i] == '"' ? end_of_string(flat, i) : i + 1;
    out += flat.substr(i, end - i);
    if (flat[i] == ',') out += ' ';
    i = end;
  }
  return out;
}

constexpr std::string_view kScalar = R"(["string","number","boolean"])";
constexpr std::string_view kNotBlank = R"([^ \t\n])";
constexpr std::string_view kVariableName = "^[A-Za-z_][A-Za-z0-9_]*$";
constexpr std::string_view kVariablePattern = R"(^[A-Za-z_*?][A-Za-z0-9_*?]*$)";
constexpr std::string_view kDuration =
    "(?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?";
constexpr std::string_view kNotZero = "(?=[^1-9]*[1-9])";
constexpr std::string_view kSize = "^(?=[^1-9]*[1-9])[0-9]+([bB]|[kKmMgGtT]([iI]?[bB])?)$";

JsonObject of_type(std::string_view type) {
  return JsonObject().put_string("type", type);
}

JsonObject text_like(std::string_view pattern) {
  return of_type("string").put_string("pattern", pattern);
}

JsonObject word_schema(const Field& field) {
  return JsonObject().put("enum", json_strings(spellings(field)));
}

JsonObject integer_schema(const Field& field) {
  JsonObject schema = of_type("integer").put_number("minimum", field.min);
  if (field.max < std::numeric_limits<std::int32_t>::max()) schema.put_number("maximum", field.max);
  return schema;
}

/// `schema`, or one of the keywords if the field has some.
JsonObject or_words(const Field& field, JsonObject schema) {
  if (field.words.empty()) return schema;
  return JsonObject().put("anyOf", json_array({schema.text(), word_schema(field).text()}));
}

JsonObject list_of(const JsonObject& items) {
  return of_type("array").put("items", items.text());
}

std::string duration_pattern(const Field& field) {
  return "^" + std::string(field.min > 0 ? kNotZero : "") + std::string(kDuration) + "$";
}

/// "TERM" becomes [Tt][Ee][Rr][Mm], because patterns have no flag for letter case.
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

/// A text for the shell, or a program with its arguments; numbers keep their spelling.
JsonObject command_schema() {
  const JsonObject line = JsonObject().put("type", kScalar).put_string("pattern", kNotBlank);
  const JsonObject program = JsonObject().put("type", kScalar).put_number("minLength", 1);
  const JsonObject arguments = of_type("array")
                                   .put("prefixItems", json_array({program.text()}))
                                   .put("items", JsonObject().put("type", kScalar).text())
                                   .put_number("minItems", 1);
  return JsonObject().put("anyOf", json_array({line.text(), arguments.text()}));
}

JsonObject section_schema(std::string_view prefix);

/// All forms of a key's value: the value itself, a mapping, a list of mappings.
JsonObject forms_of(const Field& field) {
  JsonObject value = value_schema(field);
  if (field.record.empty()) return value;
  JsonObject record = section_schema(field.record);
  if (field.kind == Kind::record_list) {
    std::vector<std::string> items{record.text()};
    if (const Field* text = field_of_text_item(field)) items.push_back(value_schema(*text).text());
    const std::string single = items.size() == 1 ? "" : items[1];
    record =
        JsonObject()
            .put_string("type", "array")
            .put("items", items.size() == 1 ? items[0]
                                            : JsonObject().put("anyOf", json_array(items)).text());
    if (value.empty()) return record;
    if (!single.empty())
      return JsonObject().put("anyOf", json_array({value.text(), single, record.text()}));
  }
  return JsonObject().put("anyOf", json_array({value.text(), record.text()}));
}

JsonObject field_schema(const Field& field) {
  JsonObject schema;
  schema.put_string("description", field.help);
  if (const std::string value = default_json(field); !value.empty()) schema.put("default", value);
  return schema.put_members(forms_of(field).text());
}

JsonObject section_schema(std::string_view prefix) {
  JsonObject properties;
  std::vector<std::string_view> required;
  for (const std::string_view name : names_under(prefix)) {
    const std::string key = std::string(prefix) + std::string(name);
    const Field* field = find_field(key);
    properties.put(name,
                   (field != nullptr ? field_schema(*field) : section_schema(key + ".")).text());
    // The job's command may be in its roles instead; see who_has_a_command().
    const bool may_be_elsewhere = prefix.empty() && find_field("roles.*." + key) != nullptr;
    if (field != nullptr && field->required && !may_be_elsewhere) required.push_back(name);
  }
  JsonObject schema;
  schema.put_string("type", "object").put("properties", properties.text());
  if (!required.empty()) schema.put("required", json_strings(required));
  return schema.put("additionalProperties", "false");
}

/// Forbids names that match `pattern` as keys of env and as items of env_pass and env_secret.
std::string without_names(const std::string& pattern) {
  const std::string not_these =
      JsonObject().put("not", JsonObject().put_string("pattern", pattern).text()).text();
  const std::string keys = JsonObject().put("propertyNames", not_these).text();
  const std::string items = JsonObject().put("items", not_these).text();
  JsonObject properties;
  properties.put("env", keys).put("env_pass", items).put("env_secret", items);
  const std::string role =
      JsonObject().put("properties", JsonObject().put("env", keys).text()).text();
  properties.put("roles", JsonObject().put("additionalProperties", role).text());
  return JsonObject().put("properties", properties.text()).text();
}

/// The rule for frameworks that have their own variables; `otherwise` is the rule for all others.
std::string rank_variable_rule(const char* frameworks, Framework one,
                               const std::string& otherwise) {
  return JsonObject()
      .put_string("description", "Rank variables are reserved for dlaunch")
      .put("if", R"({"required":["framework"],"properties":{"framework":{"enum":)" +
                     std::string(frameworks) + "}}}")
      .put("then", without_names(rank_variable_pattern(one)))
      .put("else", otherwise)
      .text();
}

std::string rank_variable_rules() {
  std::string rule = without_names(rank_variable_pattern(Framework::pytorch));
  rule = rank_variable_rule(R"(["jax"])", Framework::jax, rule);
  rule = rank_variable_rule(R"(["mpi","horovod"])", Framework::mpi, rule);
  return rank_variable_rule(R"(["none"])", Framework::none, rule);
}

/// The job has a command, or each of its roles has one.
std::string who_has_a_command() {
  return R"({"description":"A command is needed","anyOf":[{"required":["command"]},)"
         R"({"required":["roles"],"properties":{"roles":{"additionalProperties":{"anyOf":[)"
         R"({"$ref":"#/$defs/noProcess"},{"type":"object","required":["command"]}]}}}}]})";
}

/// Adds rules for keys of `connect` that only some connectors read. The default of `via` is `auto`.
void add_connector_rules(std::vector<std::string>& rules) {
  constexpr std::string_view kSection = "connect.";
  for (const Field& field : fields()) {
    if (field.connectors.empty()) continue;
    const std::string names = json_array([&] {
      std::vector<std::string> quoted;
      std::istringstream words{std::string(field.connectors)};
      for (std::string word; words >> word;) quoted.push_back(json_string(word));
      return quoted;
    }());
    const bool with_auto = field.connectors.starts_with("auto");
    const std::string other = R"("properties":{"via":{"not":{"enum":)" + names + "}}}";
    const std::string breaks =
        with_auto ? R"("required":["via"],)" + other
                  : R"("not":{"required":["via"],"properties":{"via":{"enum":)" + names + "}}}";
    const std::string key = json_string(field.key.substr(kSection.size()));
    rules.push_back(R"({"not":{"required":["connect"],"properties":{"connect":{"allOf":[)"
                    R"({"required":[)" +
                    key + "]},{" + breaks + "}]}}}}");
  }
}

std::string rules_schema() {
  std::vector<std::string> rules;
  for (const JobRule& rule : job_rules()) {
    if (rule.broken.empty()) continue;
    rules.push_back(
        JsonObject().put_string("description", rule.text).put("not", rule.broken).text());
  }
  add_connector_rules(rules);
  rules.push_back(who_has_a_command());
  rules.push_back(rank_variable_rules());
  return json_array(rules);
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_array(const std::vector<std::string>& pieces) {
  std::string out = "[";
  for (const std::string& piece : pieces) out += (out.size() > 1 ? "," : "") + piece;
  return out + "]";
}

std::string json_strings(const std::vector<std::string_view>& texts) {
  std::vector<std::string> pieces;
  for (const std::string_view text : texts) pieces.push_back(json_string(text));
  return json_array(pieces);
}

JsonObject& JsonObject::put(std::string_view key, std::string_view json) {
  if (!members_.empty()) members_ += ',';
  members_ += json_string(key);
  members_ += ':';
  members_ += json;
  return *this;
}

JsonObject& JsonObject::put_members(std::string_view object) {
  const std::string_view inside = object.substr(1, object.size() - 2);
  if (!members_.empty() && !inside.empty()) members_ += ',';
  members_ += inside;
  return *this;
}

std::string indented_json(std::string_view json) {
  std::string out;
  std::size_t level = 0;
  const auto new_line = [&] { out += '\n' + std::string(2 * level, ' '); };
  for (std::size_t i = 0; i < json.size();) {
    const char c = json[i];
    const std::size_t flat_end = c == '[' ? end_of_flat_array(json, i) : std::string_view::npos;
    if (c == '"' || flat_end != std::string_view::npos) {
      const std::size_t end = c == '"' ? end_of_string(json, i) : flat_end;
      out += c == '"' ? std::string(json.substr(i, end - i)) : spaced(json.substr(i, end - i));
      i = end;
      continue;
    }
    const bool is_empty = c == '{' && i + 1 < json.size() && json[i + 1] == '}';
    if (is_empty) {
      out += "{}";
      i += 2;
      continue;
    }
    if (c == '}' || c == ']') {
      --level;
      new_line();
    }
    out += c;
    if (c == '{' || c == '[') ++level;
    if (c == '{' || c == '[' || c == ',') new_line();
    if (c == ':') out += ' ';
    ++i;
  }
  return out;
}

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
      return or_words(field, list_of(integer_schema(field)));
    case Kind::environment:
      return environment_schema();
    case Kind::text_map:
      return of_type("object").put("additionalProperties", of_type("string").text());
    case Kind::command:
      return command_schema();
    case Kind::record_list:
      return field.words.empty() ? JsonObject() : word_schema(field);
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
  // A list of keywords in the table's notation: [failure, node-loss].
  std::vector<std::string_view> words;
  std::string_view rest = field.fallback.substr(1, field.fallback.size() - 2);
  while (!rest.empty()) {
    const auto comma = rest.find(", ");
    words.push_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
  }
  return json_strings(words);
}

std::string json_schema() {
  JsonObject schema;
  schema.put_string("$schema", "https://json-schema.org/draft/2020-12/schema")
      .put_string("$id", "urn:dlaunch:job-file")
      .put_string("title", "dlaunch job file")
      .put_members(section_schema("").text())
      .put("allOf", rules_schema())
      .put("$defs", job_rule_definitions());
  return indented_json(schema.text()) + "\n";
}

}  // namespace dlaunch::jobfile
