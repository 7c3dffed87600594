#include "report/stall_seen.h"

#include <string_view>

#include "text/plain_text.h"
#include "text/wrap.h"

namespace dlaunch {

namespace {

constexpr std::string_view kName = "dlaunch: ";
constexpr std::string_view kUnderName = "         ";
constexpr std::string_view kUnderLine = "           ";
constexpr std::size_t kMostLines = kMostVerdictLines + 1;

const char* name_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::hang:
      return "hang";
    case Verdict::Kind::slow:
      return "slow";
    case Verdict::Kind::working:
      return "working";
    case Verdict::Kind::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace

std::string stall_text(const StallSeen& seen, std::size_t columns, bool is_again) {
  std::string text;
  append_wrapped(text, kName, kUnderName, plain_line(seen.verdict.headline), columns);
  if (is_again) return text;
  for (const std::string& line : seen.verdict.lines)
    append_wrapped(text, kUnderName, kUnderLine, plain_line(line), columns);
  std::size_t end = 0;
  for (std::size_t i = 0; i < kMostLines && end < text.size(); ++i) end = text.find('\n', end) + 1;
  text.resize(end);
  return text;
}

const StallSeen* lasting_stall(const std::vector<StallSeen>& all, Attempt attempt) {
  const bool lasts = !all.empty() && all.back().attempt == attempt && !all.back().has_resumed;
  return lasts ? &all.back() : nullptr;
}

void write_members(JsonText& json, const StallSeen& seen) {
  json.key("attempt").number(seen.attempt.value).key("silence_s");
  json.billionths(std::chrono::nanoseconds(seen.silence).count());
  json.key("verdict").string(name_of(seen.verdict.kind)).key("ranks").begin_array();
  for (const Rank rank : seen.verdict.odd) json.number(rank.value);
  json.end_array().key("headline").string(seen.verdict.headline).key("lines").begin_array();
  for (const std::string& line : seen.verdict.lines) json.string(line);
  json.end_array();
}

void write_stalls(JsonText& json, const std::vector<StallSeen>& all, int indent) {
  json.begin_array();
  for (const StallSeen& seen : all) {
    json.line(indent + 2).begin_object().key("at").string(time_text(seen.at));
    write_members(json, seen);
    json.key("resumed").boolean(seen.has_resumed).end_object();
  }
  if (!all.empty()) json.line(indent);
  json.end_array();
}

}  // namespace dlaunch
