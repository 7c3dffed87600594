#include "report/html/report_page.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "report/html/markup.h"
#include "report/html/report_parts.h"
#include "report/html/report_secrets.h"
#include "report/html/trace_json.h"
#include "report/json_values.h"
#include "runs/run_record.h"
#include "runs/run_view.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using nlohmann::json;

/// The parsed contents of the files that are JSON.
struct Parsed {
  json summary = json::object();
  json plan = json::object();
  json samples = json::object();
  RunStory story;
  ReportSecrets secrets;
};

void parse(ReportInput& input, Parsed& parsed) {
  struct File {
    const char* name;
    const std::string& text;
    json& object;
    const char* parts;  // parts of the page that need this file
  };
  const std::array<File, 3> all{{
      {"summary.json", input.summary_json, parsed.summary, "ledger, attempts or ends of ranks"},
      {"plan.json", input.plan_json, parsed.plan, "plan, environment or names of nodes"},
      {"samples.json", input.samples_json, parsed.samples, "plots"},
  }};
  for (const File& file : all) {
    if (file.text.empty()) continue;
    if (auto read = parse_json_object(file.text)) {
      file.object = std::move(*read);
    } else {
      input.notes.push_back(std::string(file.name) + " is damaged: no " + file.parts);
    }
  }
}

/// Code that runs after this does not see secrets.
void mask(ReportInput& input, Parsed& parsed) {
  ReportSecrets& secrets = parsed.secrets;
  secrets.take_from_plan(parsed.plan);
  input.job_yaml = secrets.take_from_job(input.job_yaml);
  secrets.mask(parsed.plan);
  secrets.mask(parsed.summary);
  for (std::string* text : {&input.name, &input.text, &input.preflight})
    *text = secrets.masked(std::move(*text));
  for (Incident& one : parsed.story.incidents) one.text = secrets.masked(std::move(one.text));
}

/// The end of the run. If the run was lost, a sample may be the last thing that its launcher wrote.
WallTime end_of(const ReportInput& input, const json& samples) {
  constexpr double kLongest = 1e9;  // seconds
  if (input.state != name_of(RunState::lost)) return input.ended;
  std::size_t rows = 0;
  for (const json& node : json_member(samples, "nodes"))
    rows = std::max(rows, json_member(node, "cpu").size());
  const double seconds = json_real(samples, "step_s", 0) * static_cast<double>(rows);
  return std::max(input.ended, input.started + std::chrono::seconds(static_cast<std::int64_t>(
                                                   std::clamp(seconds, 0.0, kLongest))));
}

constexpr std::string_view kName = "dlaunch: ";
constexpr std::string_view kUnderName = "         ";  // continues a statement

bool is_ending(std::string_view statement) {
  constexpr std::array<std::string_view, 3> kEndings{"FAILED", "done in ", "stopped "};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view one) { return statement.starts_with(one); });
}

/// What the summary on the screen said: the statement about the end becomes the headline; the rest
/// is unchanged.
struct Cause {
  std::string headline;
  std::string rest;
};

Cause cause_of(const ReportFiles& files) {
  std::vector<std::string> lines;
  for (const json& line : json_member(files.summary, "text")) lines.push_back(json_text_of(line));
  auto begin = std::find_if(lines.begin(), lines.end(), [](std::string_view line) {
    return line.starts_with(kName) && is_ending(line.substr(kName.size()));
  });
  if (begin == lines.end()) begin = lines.begin();
  if (begin == lines.end()) return {files.input.text, ""};
  auto end = begin + 1;
  Cause cause{begin->substr(begin->starts_with(kName) ? kName.size() : 0), ""};
  for (; end != lines.end() && end->starts_with(kUnderName); ++end)
    cause.headline += ' ' + end->substr(kUnderName.size());
  lines.erase(begin, end);
  if (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  for (const std::string& line : lines) put(cause.rest, line, "\n");
  return cause;
}

std::string facts_line(const ReportFiles& files) {
  const ReportInput& input = files.input;
  std::string out;
  const auto add = [&](const std::string& text) { put(out, out.empty() ? "" : " · ", text); };
  const json& ranks = json_member(files.plan, "ranks");
  const json& nodes = json_member(files.plan, "nodes");
  if (ranks.is_array()) add(counted(ranks.size(), "rank") + " on " + counted(nodes.size(), "node"));
  const std::string framework = json_text_of(json_member(files.plan, "framework"));
  if (!framework.empty() && framework != "none") add(html(framework));
  const std::string time = time_text(input.started);
  add("started " + time.substr(0, 10) + ' ' + time.substr(11, 8) + " UTC");
  add("run " + html(input.id));
  return out;
}

std::string header(const ReportFiles& files) {
  constexpr std::size_t kMostRest = std::size_t{64} << 10;
  const ReportInput& input = files.input;
  const Cause cause = cause_of(files);
  std::string out;
  put(out, "<header id=\"cause\">\n<p class=\"job\"><span class=\"state ", html(input.state), "\">",
      html(input.state), "</span> <b>", html(input.name.empty() ? input.id : input.name),
      "</b></p>\n<h1>", html(cause.headline), "</h1>\n<p class=\"m\">", facts_line(files),
      "</p>\n");
  for (const std::string& note : input.notes) put(out, "<p class=\"m\">", html(note), "</p>\n");
  if (!cause.rest.empty()) put(out, "<pre>", html_lines(cause.rest, kMostRest), "</pre>\n");
  return out + "</header>\n";
}

struct Part {
  const char* id;
  const char* title;
  std::string body;
};

std::string body_of(const ReportFiles& files) {
  const auto& incidents = files.story.incidents;
  const bool is_stalled = std::any_of(incidents.begin(), incidents.end(), [](const Incident& one) {
    return one.kind == "stall" || one.kind == "hang";
  });
  const std::string stacks = stacks_part(files, is_stalled);
  const std::array<Part, 13> parts{{
      {"ledger", "Where the time went", ledger_part(files)},
      {"timeline", "Timeline", timeline_part(files.story)},
      {"attempts", "Attempts", attempts_part(files)},
      {"incidents", "Incidents", incidents_part(files)},
      {"stacks", "Where ranks stood", is_stalled ? stacks : ""},
      {"metrics", "Metrics", metrics_part(files)},
      {"nodes", "Nodes", nodes_part(files)},
      {"stacks", "Where ranks stood", is_stalled ? "" : stacks},
      {"ranks", "Ranks", ranks_part(files)},
      {"preflight", "Preflight", preflight_part(files)},
      {"plan", "Plan", plan_part(files)},
      {"environment", "Environment", environment_part(files)},
      {"files", "Files", files_part(files)},
  }};
  std::string out = "<nav><a href=\"#cause\">Cause</a>";
  for (const Part& part : parts) {
    if (!part.body.empty()) put(out, "<a href=\"#", part.id, "\">", part.title, "</a>");
  }
  put(out, "</nav>\n<main>\n", header(files));
  for (const Part& part : parts) out += html_section(part.id, part.title, part.body);
  return out + "</main>\n";
}

std::string page_of(const ReportFiles& files) {
  const ReportInput& input = files.input;
  const std::string title = input.name.empty() ? input.id : input.name;
  std::string out;
  put(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'nonce-",
      input.nonce, "'; script-src 'nonce-", input.nonce, "'; base-uri 'none'; form-action 'none'",
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
      "<meta name=\"color-scheme\" content=\"light dark\">\n",
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>", html(title), ": ",
      html(input.state), "</title>\n<style nonce=\"", input.nonce, "\">\n", kPageStyle,
      "</style>\n</head>\n<body data-length=\"", short_number(files.story.length, 6), "\">\n",
      body_of(files), "<footer class=\"m\">Made by dlaunch ", html(input.version),
      ". Output, arguments and variables of the job are in this file.</footer>\n<script nonce=\"",
      input.nonce, "\">\n", kPageScript, "</script>\n</body>\n</html>\n");
  return out;
}

}  // namespace

ReportText report_text(ReportInput input) {
  Parsed parsed;
  parse(input, parsed);
  const bool is_lost = input.state == name_of(RunState::lost);
  parsed.story = read_story(input.events, parsed.plan, parsed.samples, input.started,
                            end_of(input, parsed.samples), is_lost);
  mask(input, parsed);
  const ReportFiles files{input,          parsed.summary, parsed.plan,
                          parsed.samples, parsed.story,   parsed.secrets};
  return {page_of(files), trace_json(parsed.story)};
}

}  // namespace dlaunch
