#include "report/html/markup.h"

#include <algorithm>
#include <chrono>

#include "text/duration_text.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"

namespace dlaunch {

std::string html(std::string_view text) {
  std::string out;
  for (const char c : plain_line(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_lines(std::string_view text, std::size_t most) {
  const std::size_t left_out = text.size() - std::min(text.size(), most);
  text = text.substr(0, most);
  std::string out;
  while (!text.empty()) put(out, html(take_line(text)), "\n");
  if (left_out > 0) put(out, "[... ", size_text(left_out), " more]\n");
  return out;
}

std::string script_data(std::string json) {
  for (auto at = json.find('<'); at != std::string::npos; at = json.find('<', at))
    json.replace(at, 1, "\\u003c");
  return json;
}

std::string url_path(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter_or_digit(c) || contains(std::string_view("/._-~"), c)) {
      out += c;
    } else {
      put(out, "%", kHex.substr(byte / 16, 1), kHex.substr(byte % 16, 1));
    }
  }
  return out;
}

std::string short_number(double value, int places) {
  std::string text = decimals(value, places);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string percent(double fraction) {
  constexpr double kHundred = 100;
  return short_number(kHundred * fraction, 3) + '%';
}

std::string seconds_text(double seconds) {
  constexpr double kNanos = 1e9;
  constexpr double kMost = 1e9;
  seconds = std::clamp(seconds, 0.0, kMost);
  return duration_text(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * kNanos)));
}

std::string html_section(std::string_view id, std::string_view title, std::string_view body) {
  std::string out;
  if (!body.empty())
    put(out, "<section id=\"", id, "\">\n<h2>", title, "</h2>\n", body, "</section>\n");
  return out;
}

std::string html_details(std::string_view title, std::string_view body, bool open) {
  std::string out;
  put(out, open ? "<details open><summary>" : "<details><summary>", title, "</summary>\n", body,
      "</details>\n");
  return out;
}

}  // namespace dlaunch
