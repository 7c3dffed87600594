#include "log/console_view.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "text/utf8.h"

namespace dlaunch {

namespace {

// ISO 6429 foreground colours that are readable on dark and light backgrounds; red is left to
// errors.
constexpr std::array<std::string_view, 5> kColours = {"36", "32", "35", "33", "34"};

std::size_t index_of(Stream stream) {
  return stream == Stream::out ? 0 : 1;
}

/// The prefix also takes back whatever attributes the line before it left on.
std::string make_prefix(std::string_view padded, char mark, std::string_view colour) {
  std::string prefix;
  if (!colour.empty()) prefix.append("\x1b[0;").append(colour).append("m");
  prefix.append(padded).append(" ").append(1, mark);
  if (!colour.empty()) prefix.append("\x1b[0m");
  return prefix.append(" ");
}

}  // namespace

ConsoleView::ConsoleView(ConsoleOptions options, std::vector<std::string> labels)
    : options_(options) {
  if (!options_.prefix) {
    if (labels.size() > 1) held_.resize(labels.size());
    return;
  }
  splitters_.resize(labels.size());
  prefixes_.reserve(labels.size());
  std::size_t width = 0;
  for (const std::string& label : labels) width = std::max(width, utf8_length(label));
  for (std::string& label : labels) {
    label.append(width - utf8_length(label), ' ');
    const std::string_view colour =
        options_.colour ? kColours[prefixes_.size() % kColours.size()] : std::string_view{};
    prefixes_.push_back({make_prefix(label, '|', colour), make_prefix(label, '+', colour)});
  }
}

void ConsoleView::add(Rank rank, Stream stream, std::string_view bytes, std::string& out) {
  if (!options_.prefix) {
    if (held_.empty()) {
      out.append(bytes);
    } else {
      assert(rank.value < held_.size());
      add_plain(held_[rank.value][index_of(stream)], bytes, out);
    }
    return;
  }
  assert(rank.value < splitters_.size());
  const Prefix& prefix = prefixes_[rank.value];
  splitters_[rank.value][index_of(stream)].add(bytes, [&](std::string_view text, bool continues) {
    out.append(continues ? prefix.continued : prefix.first).append(text).append(1, '\n');
  });
}

void ConsoleView::finish(Rank rank, Stream stream, std::string& out) {
  if (!options_.prefix) {
    if (held_.empty()) return;
    out.append(std::exchange(held_[rank.value][index_of(stream)], {}));
    return;
  }
  const Prefix& prefix = prefixes_[rank.value];
  splitters_[rank.value][index_of(stream)].finish([&](std::string_view text, bool continues) {
    out.append(continues ? prefix.continued : prefix.first).append(text).append(1, '\n');
  });
}

void ConsoleView::add_plain(std::string& held, std::string_view bytes, std::string& out) const {
  std::size_t whole = bytes.size();
  while (whole > 0 && bytes[whole - 1] != '\n' && bytes[whole - 1] != '\r') --whole;
  const std::string_view rest = bytes.substr(whole);
  if (whole > 0 || held.size() + rest.size() > LineSplitter::kMaxLine) {
    out.append(held).append(bytes.substr(0, whole));
    held.clear();
  }
  if (rest.size() > LineSplitter::kMaxLine) {
    out.append(rest);
  } else {
    held.append(rest);
  }
}

}  // namespace dlaunch
