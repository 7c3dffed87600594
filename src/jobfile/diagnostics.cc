#include "jobfile/diagnostics.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "jobfile/excerpt.h"
#include "jobfile/utf8.h"

namespace dlaunch::jobfile {

namespace {

/// The length of the part of `path` that the pattern matches; npos: no match.
std::size_t fit(std::string_view pattern, std::string_view path) {
  std::size_t at = 0;
  for (const char c : pattern) {
    if (c == '*') {
      const std::size_t end = std::min(path.find_first_of(".[", at), path.size());
      if (end == at) return std::string_view::npos;
      at = end;
    } else if (at < path.size() && path[at] == c) {
      ++at;
    } else {
      return std::string_view::npos;
    }
  }
  const bool ends_there = at == path.size() || path[at] == '.' || path[at] == '[';
  return ends_there ? at : std::string_view::npos;
}

}  // namespace

std::string foreign_key(std::span<const KeyName> names, std::string_view path) {
  for (const KeyName& name : names) {
    const std::size_t taken = fit(name.native, path);
    if (taken == std::string_view::npos) continue;
    std::string_view rest = path.substr(taken);
    if (rest.starts_with('[')) rest.remove_prefix(std::min(rest.find(']'), rest.size() - 1) + 1);
    return std::string(name.foreign) + std::string(rest);
  }
  return std::string(path);
}

namespace {

constexpr std::size_t kMaxShown = 20;
constexpr int kMaxQuoted = 60;
constexpr std::size_t kMaxLine = 500;

std::string escape(std::uint32_t value) {
  if (value == '\n') return "\\n";
  if (value == '\t') return "\\t";
  if (value == '\r') return "\\r";
  char text[16];
  std::snprintf(text, sizeof text, value < 0x100 ? "\\x%02x" : "\\u%04x", value);
  return text;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  int shown = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (++shown > kMaxQuoted) {
      out += "...";
      break;
    }
    const CodePoint c = decode_utf8(text, i);
    if (c.valid && is_printable(c.value)) {
      out += text.substr(i, c.length);
    } else {
      out += escape(c.value);
    }
    i += c.length;
  }
  return out + "\"";
}

std::string presentable(std::string_view message) {
  std::string out;
  std::size_t line = 0;  // bytes of it so far
  for (std::size_t i = 0; i < message.size();) {
    const CodePoint c = decode_utf8(message, i);
    const std::string_view bytes = message.substr(i, c.length);
    i += c.length;
    if (bytes == "\n") {
      line = 0;
      out += '\n';
      continue;
    }
    if (line == kMaxLine) out += "...";
    if (line < kMaxLine) out += c.valid && is_printable(c.value) ? bytes : std::string_view("?");
    line = line < kMaxLine ? std::min(line + bytes.size(), kMaxLine) : kMaxLine + 1;
  }
  return out;
}

void Diagnostics::error(Place place, std::string message) {
  if (is_full()) {
    ++dropped_;
    return;
  }
  entries_.push_back({place, presentable(message)});
}

std::string Diagnostics::refer_to(Place place) const {
  const Source& source = (*sources_)[place.source];
  if (source.is_argument) return presentable(source.name);
  const std::string line = "line " + std::to_string(line_of(source.text, place.offset));
  return place.source == 0 ? line : presentable(source.name) + ", " + line;
}

std::string Diagnostics::key_at(std::string_view path, Place place) const {
  return (*sources_)[place.source].is_argument ? std::string(path) : foreign_key(key_names_, path);
}

std::string Diagnostics::render(const Entry& entry) const {
  const Source& source = (*sources_)[entry.place.source];
  std::string out = presentable(source.name);
  const bool has_line = !source.is_argument && !entry.place.is_whole();
  if (has_line) {
    const Location at = locate(source.text, entry.place.offset);
    out += ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }
  out += (out.empty() ? "error: " : ": error: ") + entry.message;
  if (has_line) out += "\n" + excerpt(source.text, entry.place);
  return out;
}

Error Diagnostics::to_error() const {
  // An aliased node is read once per alias, so the same error may occur several times.
  std::vector<Entry> sorted = entries_;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());

  std::string message;
  for (std::size_t i = 0; i < sorted.size() && i < kMaxShown; ++i) {
    if (i != 0) message += "\n\n";
    message += render(sorted[i]);
  }
  if (sorted.size() > kMaxShown) {
    const std::size_t more = sorted.size() - kMaxShown + dropped_;
    message += "\n\n" + std::to_string(more) + (more == 1 ? " more error" : " more errors");
  }
  return Error{exit_code::kJobFile, std::move(message)};
}

}  // namespace dlaunch::jobfile
