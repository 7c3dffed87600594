#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "report/html/markup.h"
#include "report/html/report_parts.h"
#include "report/json_values.h"
#include "runs/run_record.h"
#include "text/json_text.h"

namespace dlaunch {

namespace {

using nlohmann::json;

constexpr std::size_t kMostRanks = 4096;
constexpr std::size_t kMostValue = 4096;  // bytes
constexpr std::size_t kMostData = 2'000'000;

std::string value_of(const json& value) {
  std::string text = json_text_of(value);
  if (text.size() > kMostValue) text = text.substr(0, kMostValue) + "[...]";
  return text;
}

std::size_t node_of(const json& rank) {
  return static_cast<std::size_t>(std::clamp(json_real(rank, "node", 0), 0.0, 1e9));
}

/// The variables of one rank, by name. plan.json does not have the values of `env_pass` and
/// `env_secret`.
std::map<std::string, std::string> variables_of(const json& plan, std::size_t rank) {
  std::map<std::string, std::string> all;
  const auto add = [&](const json& object) {
    const json& variables = json_member(object, "variables");
    if (!variables.is_object()) return;
    for (const auto& [name, value] : variables.items()) all[name] = value_of(value);
  };
  add(plan);
  const json& own = json_item(json_member(plan, "ranks"), rank);
  add(json_item(json_member(plan, "nodes"), node_of(own)));
  add(own);
  return all;
}

void write_variables(JsonText& json_text, const json& object) {
  json_text.begin_object();
  const json& variables = json_member(object, "variables");
  if (variables.is_object()) {
    for (const auto& [name, value] : variables.items()) json_text.key(name).string(value_of(value));
  }
  json_text.end_object();
}

/// {"all": {...}, "nodes": [{...}], "of": [node of each rank], "names": [...], "ranks": [[values in
/// the order of names, or null]], "why": {name: reason}}: values that ranks share occur once. Sets
/// `count` to the number of ranks that fit.
std::string data_of(const json& plan, std::size_t& count) {
  std::string out;
  JsonText text(out);
  const json& nodes = json_member(plan, "nodes");
  const json& ranks = json_member(plan, "ranks");
  count = std::min(ranks.size(), kMostRanks);
  text.begin_object().key("all");
  write_variables(text, plan);
  text.key("nodes").begin_array();
  std::size_t nodes_in_it = 0;
  for (; nodes_in_it < nodes.size() && out.size() < kMostData / 2; ++nodes_in_it)
    write_variables(text, json_item(nodes, nodes_in_it));
  text.end_array().key("of").begin_array();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t node = node_of(ranks[i]);
    if (node >= nodes_in_it && node < nodes.size()) count = i;
    if (i < count) text.number(static_cast<std::int64_t>(node));
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const json& variables = json_member(ranks[i], "variables");
    if (!variables.is_object()) continue;
    for (const auto& [name, value] : variables.items()) names.insert(name);
  }
  text.end_array().key("names").begin_array();
  for (const std::string& name : names) text.string(name);
  text.end_array().key("ranks").begin_array();
  for (std::size_t i = 0; i < count; ++i) {
    const json& variables = json_member(ranks[i], "variables");
    if (out.size() >= kMostData) count = i;
    if (i == count) break;
    text.begin_array();
    for (const std::string& name : names) {
      const json& value = json_member(variables, name.c_str());
      value.is_null() ? text.null() : text.string(value_of(value));
    }
    text.end_array();
  }
  text.end_array().key("why").begin_object();
  const json& reasons = json_member(plan, "reasons");
  if (reasons.is_object()) {
    for (const auto& [name, why] : reasons.items()) text.key(name).string(json_text_of(why));
  }
  text.end_object().end_object();
  return out;
}

std::string names_line(const json& plan, const char* list, std::string_view what) {
  std::string out;
  for (const json& name : json_member(plan, list))
    put(out, out.empty() ? "" : ", ", "<code>", html(json_text_of(name)), "</code>");
  if (!out.empty()) out = "<p class=\"m\">" + std::string(what) + out + "</p>\n";
  return out;
}

}  // namespace

std::string environment_part(const ReportFiles& files) {
  const json& plan = files.plan;
  const json& ranks = json_member(plan, "ranks");
  if (!ranks.is_array() || ranks.empty()) return "";
  const auto first = json_number(files.summary, "first").value_or(0);
  const std::size_t rank = first >= 0 && static_cast<std::size_t>(first) < ranks.size() ? first : 0;
  const json& reasons = json_member(plan, "reasons");
  std::size_t count = 0;
  const std::string data = script_data(data_of(plan, count));
  std::string out;
  put(out, "<p>Rank <b id=\"envrank\">", std::to_string(rank),
      "</b> <label id=\"envpick\" hidden>another: <input type=\"number\" min=\"0\" max=\"",
      std::to_string(std::max<std::size_t>(count, 1) - 1), "\" value=\"", std::to_string(rank),
      "\"></label></p>\n<div class=\"wide\"><table><thead><tr><th>Variable</th><th>Value</th>"
      "<th>Reason</th></tr></thead>\n<tbody id=\"env\">\n");
  for (const auto& [name, value] : variables_of(plan, rank)) {
    put(out, "<tr><td>", html(name), "</td><td>", html(value), "</td><td>",
        html(json_text_of(json_member(reasons, name.c_str()))), "</td></tr>\n");
  }
  put(out, "</tbody></table></div>\n");
  if (count < ranks.size())
    put(out, "<p class=\"m\">Variables of ", std::to_string(ranks.size() - count),
        " more ranks are in plan.json.</p>\n");
  put(out, names_line(plan, "passed", "Passed on from the launcher, values not recorded: "),
      names_line(plan, "secret", "Secret: "), "<script type=\"application/json\" id=\"envdata\">",
      data, "</script>\n");
  return out;
}

}  // namespace dlaunch
