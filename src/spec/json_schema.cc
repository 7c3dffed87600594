#include "spec/json_schema.h"

#include <vector>

#include "model/rank_variables.h"
#include "spec/fields.h"
#include "spec/job_rules.h"
#include "spec/value_schema.h"

namespace dlaunch::spec {

namespace {

JsonObject section_schema(std::string_view prefix);

/// All forms of a key's value: itself, a mapping, a list of mappings.
JsonObject forms_of(const Field& field) {
  JsonObject value = value_schema(field);
  if (field.record.empty() || is_section_not_yet(field.record)) return value;
  JsonObject record = section_schema(field.record);
  if (field.kind == Kind::record_list) {
    std::vector<std::string> items{record.text()};
    // A text in the list is the name of the record.
    if (const Field* name = find_field(std::string(field.record) + "name"))
      items.push_back(value_schema(*name).text());
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
    if (!is_available(key)) continue;
    const Field* field = find_field(key);
    properties.put(name,
                   (field != nullptr ? field_schema(*field) : section_schema(key + ".")).text());
    // The command of a job may be that of its roles: who_has_a_command().
    const bool may_be_elsewhere = prefix.empty() && is_available("roles.*." + key);
    if (field != nullptr && field->required && !may_be_elsewhere) required.push_back(name);
  }
  JsonObject schema;
  schema.put_string("type", "object").put("properties", properties.text());
  if (!required.empty()) schema.put("required", json_strings(required));
  return schema.put("additionalProperties", "false");
}

/// `names` as the keys of env, and as the items of the lists of names.
std::string without_names(const std::string& pattern) {
  const std::string not_these =
      JsonObject().put("not", JsonObject().put_string("pattern", pattern).text()).text();
  const std::string keys = JsonObject().put("propertyNames", not_these).text();
  const std::string items = JsonObject().put("items", not_these).text();
  JsonObject properties;
  properties.put("env", keys).put("env_pass", items).put("env_secret", items);
  if (is_available("roles.*.env")) {
    const std::string role =
        JsonObject().put("properties", JsonObject().put("env", keys).text()).text();
    properties.put("roles", JsonObject().put("additionalProperties", role).text());
  }
  return JsonObject().put("properties", properties.text()).text();
}

/// For the frameworks with names of their own; `otherwise` holds for all others.
std::string rank_variable_rule(const char* frameworks, Framework one,
                               const std::string& otherwise) {
  return JsonObject()
      .put_string("description", "Rank variables are for dlaunch to set")
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

/// A job has a command, or each of its roles has one.
std::string who_has_a_command() {
  return R"({"description":"A command is needed","anyOf":[{"required":["command"]},)"
         R"({"required":["roles"],"properties":{"roles":{"additionalProperties":{"anyOf":[)"
         R"({"$ref":"#/$defs/noProcess"},{"type":"object","required":["command"]}]}}}}]})";
}

std::string rules_schema() {
  std::vector<std::string> rules;
  for (const JobRule& rule : job_rules()) {
    if (rule.broken.empty() || !is_available(rule.first) || !is_available(rule.second)) continue;
    rules.push_back(
        JsonObject().put_string("description", rule.text).put("not", rule.broken).text());
  }
  if (is_available("roles.*.command")) rules.push_back(who_has_a_command());
  rules.push_back(rank_variable_rules());
  return json_array(rules);
}

}  // namespace

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

}  // namespace dlaunch::spec
