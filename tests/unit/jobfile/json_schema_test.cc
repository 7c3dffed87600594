// The schema is complete; tests/schema shows that it means the same as the reader.
#include "jobfile/json_schema.h"
#include "model/rank_variables.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jobfile/field_table.h"
#include "jobfile/job_rules.h"

namespace dlaunch::jobfile {
namespace {

using nlohmann::json;

TEST(JsonSchema, HasTheKeysThatCanBeUsedAndNoOther) {
  const json schema = json::parse(json_schema());
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_FALSE(
      schema.contains("required"));  // roles may have commands of their own: a rule says it
  int present = 0;
  for (const Field& field : fields()) {
    if (field.key.find_first_of("[*") != std::string_view::npos ||
        field.key.starts_with("nodes.") || field.key.starts_with("sync.")) {
      continue;  // forms of a key
    }
    std::string pointer = "/properties/" + std::string(field.key);
    if (const auto dot = pointer.find('.'); dot != std::string::npos)
      pointer.replace(dot, 1, "/properties/");
    const bool is_present = schema.contains(json::json_pointer(pointer));
    ASSERT_TRUE(is_present) << field.key;
    ++present;
    EXPECT_EQ(schema[json::json_pointer(pointer)]["description"], field.help);
  }
  EXPECT_GT(present, 20);
}

TEST(JsonSchema, SaysTypesDefaultsAndBounds) {
  const json keys = json::parse(json_schema())["properties"];
  EXPECT_EQ(keys["shell"]["enum"], json({"sh", "bash"}));
  EXPECT_EQ(keys["shell"]["default"], "sh");
  EXPECT_EQ(keys["processes"], (json{{"description", "Ranks in total; hosts are filled in order"},
                                     {"type", "integer"},
                                     {"minimum", 1},
                                     {"maximum", 100000}}));
  EXPECT_EQ(keys["processes_per_node"]["anyOf"][1]["enum"], json({"auto", "gpu"}));
  EXPECT_EQ(keys["timeouts"]["properties"]["run"]["default"], "none");
  EXPECT_EQ(keys["timeouts"]["additionalProperties"], false);
}

TEST(JobRules, HoldJson) {
  for (const JobRule& rule : job_rules()) {
    if (!rule.broken.empty()) {
      EXPECT_TRUE(json::accept(rule.broken)) << rule.broken;
    }
  }
}

TEST(JsonPieces, AreIndentedForPeople) {
  const std::string compact =
      JsonObject()
          .put_string("a", "x, [y]: \"{\"")
          .put("b", json_array({"1", json_strings({"p,q", "r"})}))
          .put("c", json_array({JsonObject().put_number("d", -1).text(), JsonObject().text()}))
          .put_members(R"({"e":true})")
          .text();
  EXPECT_EQ(indented_json(compact),
            "{\n"
            "  \"a\": \"x, [y]: \\\"{\\\"\",\n"
            "  \"b\": [1, [\"p,q\", \"r\"]],\n"
            "  \"c\": [\n"
            "    {\n"
            "      \"d\": -1\n"
            "    },\n"
            "    {}\n"
            "  ],\n"
            "  \"e\": true\n"
            "}");
  EXPECT_EQ(json::parse(indented_json(compact)), json::parse(compact));
}

}  // namespace
}  // namespace dlaunch::jobfile
