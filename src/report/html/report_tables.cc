#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "jobfile/shell_quote.h"
#include "model/rank_list.h"
#include "model/spent_time.h"
#include "report/html/markup.h"
#include "report/html/report_parts.h"
#include "report/json_values.h"
#include "report/stacks_read.h"
#include "report/stacks_text.h"
#include "runs/run_record.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

using nlohmann::json;

constexpr std::size_t kOpenRows = 32;  // longer tables are folded at first
constexpr std::size_t kMostRanks = 4096;
constexpr std::size_t kMostIncidents = 400;
constexpr std::size_t kMostStacks = 8;
constexpr std::size_t kMostText = std::size_t{96} << 10;  // of one text
constexpr std::size_t kStackColumns = 120;

/// A table with a header row of `heads`; folded if it is long.
std::string table(std::initializer_list<std::string_view> heads, const std::string& rows,
                  std::size_t count, std::string_view noun) {
  std::string out = "<div class=\"wide\"><table>\n<thead><tr>";
  for (const std::string_view head : heads) put(out, "<th>", head, "</th>");
  put(out, "</tr></thead>\n<tbody>\n", rows, "</tbody></table></div>\n");
  return count > kOpenRows ? html_details("All " + counted(count, noun), out) : out;
}

std::string text_of(const json& object, const char* name) {
  return html(json_text_of(json_member(object, name)));
}

bool has_file(const ReportFiles& files, const std::string& name) {
  return std::binary_search(files.input.files.begin(), files.input.files.end(), name);
}

std::string file_link(const ReportFiles& files, const std::string& name, std::string_view shown) {
  std::string out;
  put(out, "<a href=\"", url_path(files.input.folder + name), "\">", html(shown), "</a>");
  return out;
}

std::string log_links(const ReportFiles& files, const std::string& attempt, std::size_t rank) {
  std::string out;
  for (const char* stream : {"out", "err"}) {
    const std::string name = "attempt-" + attempt + "/rank-" + std::to_string(rank) + '.' + stream;
    if (has_file(files, name)) put(out, out.empty() ? "" : " ", file_link(files, name, stream));
  }
  return out;
}

/// How a rank ended, according to summary.json.
std::string end_text(const json& rank) {
  const std::string how = json_string(rank, "how");
  std::string text = how;
  if (const std::string signal = json_string(rank, "signal"); !signal.empty()) {
    text += ", " + signal;
  } else if (const auto code = json_number(rank, "exit_code")) {
    text += ", code " + std::to_string(*code);
  }
  for (const char* name : {"out_of_memory", "gpu_fault", "mpi", "error"}) {
    if (const std::string more = json_string(rank, name); !more.empty()) text += ", " + more;
  }
  return text;
}

std::string time_after(const ReportFiles& files, const json& object, const char* name) {
  const auto time = parse_time(json_string(object, name));
  if (!time) return "";
  return seconds_text(std::chrono::duration<double>(*time - files.story.started).count());
}

}  // namespace

std::string ledger_part(const ReportFiles& files) {
  const json& ledger = json_member(files.summary, "ledger");
  const double whole = json_real(files.summary, "elapsed_s", 0);
  if (!ledger.is_object() || whole <= 0) return "";
  std::string bar =
      "<svg class=\"ledger\" height=\"22\" role=\"img\" aria-label=\"Shares of the "
      "time\">";
  std::string rows;
  double at = 0;
  for (const SpentWords& line : kSpentWords) {
    const double seconds = json_real(ledger, std::string(line.key).c_str(), 0);
    if (seconds <= 0) continue;
    const std::string kind(line.key.substr(0, line.key.size() - 2));
    put(bar, "<rect class=\"sp ", kind, "\" x=\"", percent(at / whole), "\" width=\"",
        percent(seconds / whole), "\" height=\"22\"><title>", line.what, ": ",
        seconds_text(seconds), "</title></rect>");
    put(rows, "<tr><td><svg class=\"sw\"><rect class=\"sp ", kind,
        "\" width=\"100%\" height=\"100%\"/></svg>", line.what, "</td><td class=\"n\">",
        seconds_text(seconds), "</td><td class=\"n\">", decimals(seconds / whole * 100, 1),
        " %</td></tr>\n");
    at += seconds;
  }
  return bar + "</svg>\n<table class=\"shares\"><tbody>\n" + rows + "</tbody></table>\n";
}

std::string attempts_part(const ReportFiles& files) {
  const json& earlier = json_member(files.summary, "earlier");
  if (!earlier.is_array() || earlier.empty()) return "";
  std::string rows;
  const auto seconds = [](const json& attempt, const char* name) {
    const double value = json_real(attempt, name, -1);
    return value < 0 ? std::string() : seconds_text(value);
  };
  const auto folder = [&](const std::string& attempt) {
    return file_link(files, "attempt-" + attempt + '/', "attempt-" + attempt + '/');
  };
  for (const json& attempt : earlier) {
    const std::string number = text_of(attempt, "attempt");
    put(rows, "<tr><td class=\"n\">", number, "</td><td>", text_of(attempt, "cause"),
        "</td><td class=\"n\">", text_of(attempt, "first"), "</td><td class=\"n\">",
        text_of(attempt, "exit_code"));
    for (const char* name : {"ran_s", "unnoticed_s", "stopped_s", "wait_s", "again_s"})
      put(rows, "</td><td class=\"n\">", seconds(attempt, name));
    put(rows, "</td><td class=\"n\">", text_of(attempt, "steps_lost"), "</td><td>", folder(number),
        "</td></tr>\n");
  }
  const std::string last = text_of(files.summary, "attempt");
  put(rows, "<tr><td class=\"n\">", last, "</td><td>", text_of(files.summary, "cause"),
      "</td><td class=\"n\">", text_of(files.summary, "first"), "</td><td class=\"n\">",
      text_of(files.summary, "exit_code"),
      "</td><td colspan=\"6\" class=\"m\">the last one</td><td>", folder(last), "</td></tr>\n");
  return table({"Attempt", "Cause", "First rank", "Exit code", "Ran", "Unnoticed", "Stopped in",
                "Wait", "Until it ran again", "Steps lost", "Logs"},
               rows, earlier.size() + 1, "attempt");
}

namespace {

std::string ranks_table(const std::string& rows, std::size_t count) {
  std::string out =
      table({"Rank", "Node", "End", "Started after", "Ended after", "Logs"}, rows, count, "rank");
  if (count > kMostRanks)
    put(out, "<p class=\"m\">", std::to_string(count - kMostRanks),
        " more ranks are in the run folder.</p>\n");
  return out;
}

/// The ranks of the last attempt according to events.jsonl, for a run without a summary.
std::string ranks_so_far(const ReportFiles& files) {
  if (files.story.attempts.empty()) return "";
  const StoryAttempt& attempt = files.story.attempts.back();
  std::string rows;
  std::size_t count = 0;
  for (const RankPeriod& one : files.story.spans) {
    if (one.attempt != attempt.number || one.rank >= attempt.node_of_rank.size()) continue;
    if (count++ >= kMostRanks) continue;
    const std::string number = std::to_string(one.rank);
    const bool runs = one.end == RankPeriod::End::running;
    put(rows, "<tr id=\"r", number, "\"><td class=\"n\">", number, "</td><td>",
        html(attempt.node_of_rank[one.rank]), "</td><td>",
        one.how.empty() ? name_of(one.end) : html(one.how), "</td><td class=\"n\">",
        seconds_text(one.from), "</td><td class=\"n\">", runs ? "" : seconds_text(one.to),
        "</td><td>", log_links(files, std::to_string(attempt.number), one.rank), "</td></tr>\n");
  }
  return count == 0 ? "" : ranks_table(rows, count);
}

}  // namespace

std::string ranks_part(const ReportFiles& files) {
  const json& ranks = json_member(files.summary, "ranks");
  if (!ranks.is_array() || ranks.empty()) return ranks_so_far(files);
  const std::string attempt = json_text_of(json_member(files.summary, "attempt"));
  std::string rows;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostRanks); ++i) {
    const json& rank = ranks[i];
    if (!rank.is_object()) continue;
    const std::string number = std::to_string(i);
    const bool is_first =
        json_number(files.summary, "first").value_or(-1) == static_cast<std::int64_t>(i);
    put(rows, "<tr id=\"r", number, is_first ? "\" class=\"first\">" : "\">", "<td class=\"n\">",
        number, "</td><td>", text_of(rank, "node"), "</td><td>", html(end_text(rank)),
        "</td><td class=\"n\">", time_after(files, rank, "started"), "</td><td class=\"n\">",
        time_after(files, rank, "ended"), "</td><td>", log_links(files, attempt, i),
        "</td></tr>\n");
  }
  return ranks_table(rows, ranks.size());
}

std::string incidents_part(const ReportFiles& files) {
  const auto& all = files.story.incidents;
  std::string rows;
  // Leaves out the middle, because the first and the last incidents are the most informative.
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.size() > kMostIncidents && i == kMostIncidents / 2) {
      i = all.size() - kMostIncidents / 2;
      put(rows, "<tr><td></td><td></td><td class=\"m\">",
          std::to_string(all.size() - kMostIncidents), " more in events.jsonl</td></tr>\n");
    }
    const Incident& one = all[i];
    put(rows, "<tr class=\"", name_of(one.weight), "\"><td class=\"n\">", seconds_text(one.at),
        "</td><td><i class=\"dot\"></i>", html(one.kind), "</td><td>", html(one.text),
        "</td></tr>\n");
  }
  if (rows.empty()) return "";
  return table({"After", "Event", "What"}, rows, std::min(all.size(), kMostIncidents), "incident");
}

namespace {

/// The time of the snapshot, which is the name of its file.
std::string stacks_title(const ReportFiles& files, const std::string& file) {
  const std::string name = file.substr(0, file.rfind('.'));
  const auto time = parse_time(name);
  if (!time) return html(name);
  return "after " +
         seconds_text(std::chrono::duration<double>(*time - files.story.started).count());
}

}  // namespace

std::string stacks_part(const ReportFiles& files, bool open) {
  std::string out;
  const auto& all = files.input.stacks;
  const std::size_t skipped = all.size() - std::min(all.size(), kMostStacks);
  for (std::size_t i = skipped; i < all.size(); ++i) {
    const auto reply = parse_stacks(all[i].second);
    const std::string text =
        reply ? stacks_text(*reply, kStackColumns) : reply.error().message + '\n';
    std::string body = "<pre>" + html_lines(files.secrets.masked(text), kMostText) + "</pre>\n";
    put(body, "<p class=\"m\">Complete snapshot: ",
        file_link(files, "stacks/" + all[i].first, all[i].first), "</p>\n");
    out += html_details(stacks_title(files, all[i].first), body, open && i + 1 == all.size());
  }
  if (skipped > 0)
    put(out, "<p class=\"m\">", std::to_string(skipped), " earlier ones are in stacks/.</p>\n");
  return out;
}

std::string preflight_part(const ReportFiles& files) {
  std::string out;
  const json& notes = json_member(files.summary, "preflight");
  if (notes.is_array() && !notes.empty()) {
    out += "<ul>\n";
    for (const json& note : notes) put(out, "<li>", html(json_text_of(note)), "</li>\n");
    out += "</ul>\n";
  }
  if (!files.input.preflight.empty())
    put(out, "<pre>", html_lines(files.input.preflight, kMostText), "</pre>\n");
  return out;
}

namespace {

std::string node_rows(const ReportFiles& files, std::size_t& count) {
  std::string rows;
  for (const json& node : json_member(files.plan, "nodes")) {
    std::vector<std::uint32_t> ranks;
    for (const json& rank : json_member(node, "ranks")) {
      if (rank.is_number_unsigned()) ranks.push_back(rank.get<std::uint32_t>());
    }
    ++count;
    put(rows, "<tr><td>", text_of(node, "name"), "</td><td>", text_of(node, "address"), "</td><td>",
        compact_ranges(ranks, 80), "</td><td>", text_of(node, "binding"), "</td></tr>\n");
  }
  return rows;
}

std::string commands_of(const json& plan) {
  std::string out;
  for (const json& command : json_member(plan, "commands")) {
    std::vector<std::string> words;
    for (const json& word : json_member(command, "argv")) words.push_back(json_text_of(word));
    put(out, html_lines(jobfile::shell_line(words), kMostText));
  }
  return out;
}

}  // namespace

std::string plan_part(const ReportFiles& files) {
  const json& plan = files.plan;
  std::string out;
  if (plan.is_object() && !plan.empty()) {
    out += "<table class=\"few\"><tbody>\n";
    const json& master = json_member(plan, "master");
    const std::array<std::pair<const char*, std::string>, 5> facts{{
        {"Framework", text_of(plan, "framework")},
        {"Launch", text_of(plan, "launch")},
        {"Workdir", text_of(plan, "workdir")},
        {"Master", text_of(master, "address")},
        {"Reason", text_of(master, "reason")},
    }};
    for (const auto& [name, value] : facts) {
      if (!value.empty()) put(out, "<tr><td>", name, "</td><td>", value, "</td></tr>\n");
    }
    put(out, "</tbody></table>\n<pre>", commands_of(plan), "</pre>\n");
    std::size_t count = 0;
    const std::string rows = node_rows(files, count);
    out += table({"Node", "Address", "Ranks", "Binding"}, rows, count, "node");
    for (const json& note : json_member(plan, "notes"))
      put(out, "<p class=\"m\">", html(json_text_of(note)), "</p>\n");
  }
  if (!files.input.job_yaml.empty())
    out += html_details("The job as it was run: job.yaml",
                        "<pre>" + html_lines(files.input.job_yaml, kMostText) + "</pre>\n");
  return out;
}

std::string files_part(const ReportFiles& files) {
  std::string out;
  for (const std::string& name : files.input.files) {
    if (name.find('/') == std::string::npos)
      put(out, out.empty() ? "<p>" : " · ", file_link(files, name, name));
  }
  return out.empty() ? "" : out + "</p>\n";
}

}  // namespace dlaunch
