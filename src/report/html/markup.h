// Pieces of HTML and SVG. Every text from a job or its ranks is untrusted and must pass through
// html() or script_data(). Pure.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

/// Appends all parts.
template <class... Parts>
void put(std::string& out, const Parts&... parts) {
  (out.append(parts), ...);
}

/// `text` for an element or a quoted attribute: one line, as plain_line() cleans it.
[[nodiscard]] std::string html(std::string_view text);
/// Like html(), for several lines: at most `most` bytes of them, then a note on how much is
/// missing.
[[nodiscard]] std::string html_lines(std::string_view text, std::size_t most);

/// JSON for a <script type="application/json">: no byte of it can end the element.
[[nodiscard]] std::string script_data(std::string json);

/// The path of a file as a relative link; escapes each byte that has a meaning in a URL.
[[nodiscard]] std::string url_path(std::string_view path);

/// The number with at most `places` decimal places, without trailing zeros: "12.5".
[[nodiscard]] std::string short_number(double value, int places);
/// A fraction of the width: "12.5%".
[[nodiscard]] std::string percent(double fraction);

/// A time or a duration for people: "1 min 30 s".
[[nodiscard]] std::string seconds_text(double seconds);

/// <section id="ID"><h2>TITLE</h2>BODY</section>; nothing for an empty body.
[[nodiscard]] std::string html_section(std::string_view id, std::string_view title,
                                       std::string_view body);
/// <details>, closed unless `open`.
[[nodiscard]] std::string html_details(std::string_view title, std::string_view body,
                                       bool open = false);

}  // namespace dlaunch
