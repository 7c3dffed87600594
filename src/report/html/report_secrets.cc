#include "report/html/report_secrets.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "jobfile/launch_lines/shell_text.h"
#include "report/html/markup.h"
#include "report/json_values.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using nlohmann::json;

constexpr std::string_view kMask = "***";
// Shorter values may be parts of words.
constexpr std::size_t kLeastValue = 8;
constexpr std::size_t kLeastInJob = 4;

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

}  // namespace

void ReportSecrets::remember(std::string value) {
  if (value.size() >= kLeastInJob) values_.insert(std::move(value));
}

void ReportSecrets::take_from_plan(json& plan) {
  const auto take = [&](json& object) {
    if (!object.is_object() || !json_member(object, "variables").is_object()) return;
    for (auto& [name, value] : object["variables"].items()) {
      if (!jobfile::is_secret(name)) continue;
      remember(json_text_of(value));
      value = kMask;
    }
  };
  take(plan);
  for (const char* list : {"nodes", "ranks"}) {
    if (!json_member(plan, list).is_array()) continue;
    for (json& one : plan[list]) take(one);
  }
}

std::string ReportSecrets::take_from_job(std::string_view yaml) {
  constexpr std::size_t kOutside = std::string_view::npos;
  std::string out;
  std::size_t env = kOutside;     // indent of the `env` that contains the line
  std::size_t secret = kOutside;  // indent of the secret variable to which the line belongs
  while (!yaml.empty()) {
    const std::string_view line = take_line(yaml);
    const std::string_view content = trimmed(line);
    const std::size_t indent = indent_of(line);
    if (secret != kOutside && (content.empty() || indent > secret)) {
      remember(std::string(content));
      continue;
    }
    secret = kOutside;
    if (env != kOutside && !content.empty() && indent <= env) env = kOutside;
    const auto colon = content.find(':');
    if (env != kOutside && colon != kOutside && jobfile::is_secret(content.substr(0, colon))) {
      std::string_view value = trimmed(content.substr(colon + 1));
      if (value.size() > 1 && value.front() == value.back() && contains("'\"", value.front()))
        value = value.substr(1, value.size() - 2);
      remember(std::string(value));
      secret = indent;
      put(out, line.substr(0, indent), content.substr(0, colon), ": '", kMask, "'\n");
      continue;
    }
    if (content == "env:") env = indent;
    put(out, line, "\n");
  }
  return masked(std::move(out), kLeastInJob);
}

std::string ReportSecrets::masked(std::string text) const {
  return masked(std::move(text), kLeastValue);
}

std::string ReportSecrets::masked(std::string text, std::size_t least) const {
  for (const std::string& value : values_) {
    if (value.size() < least) continue;
    for (auto at = text.find(value); at != std::string::npos;
         at = text.find(value, at + kMask.size()))
      text.replace(at, value.size(), kMask);
  }
  return text;
}

void ReportSecrets::mask(json& value) const {
  if (values_.empty()) return;
  if (value.is_string()) {
    value = masked(value.get<std::string>());
  } else if (value.is_structured()) {
    for (json& one : value) mask(one);
  }
}

}  // namespace dlaunch
