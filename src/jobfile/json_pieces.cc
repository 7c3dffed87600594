#include "jobfile/json_pieces.h"

#include "text/json_text.h"

namespace dlaunch::jobfile {

namespace {

/// Offset after the string that begins at `i`.
std::size_t end_of_string(std::string_view json, std::size_t i) {
  for (++i; i < json.size() && json[i] != '"'; ++i) {
    if (json[i] == '\\') ++i;
  }
  return i + 1;
}

/// Offset after an array without objects; npos: the array contains one.
std::size_t end_of_flat_array(std::string_view json, std::size_t i) {
  for (int depth = 0; i < json.size();) {
    const char c = json[i];
    if (c == '{') return std::string_view::npos;
    if (c == '"') {
      i = end_of_string(json, i);
      continue;
    }
    if (c == '[') ++depth;
    if (c == ']' && --depth == 0) return i + 1;
    ++i;
  }
  return std::string_view::npos;
}

/// Adds a space after each comma outside of strings.
std::string spaced(std::string_view flat) {
  std::string out;
  for (std::size_t i = 0; i < flat.size();) {
    const std::size_t end = flat[i] == '"' ? end_of_string(flat, i) : i + 1;
    out += flat.substr(i, end - i);
    if (flat[i] == ',') out += ' ';
    i = end;
  }
  return out;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string json_array(const std::vector<std::string>& pieces) {
  std::string out = "[";
  for (const std::string& piece : pieces) out += (out.size() > 1 ? "," : "") + piece;
  return out + "]";
}

std::string json_strings(const std::vector<std::string_view>& texts) {
  std::vector<std::string> pieces;
  for (const std::string_view text : texts) pieces.push_back(json_string(text));
  return json_array(pieces);
}

JsonObject& JsonObject::put(std::string_view key, std::string_view json) {
  if (!members_.empty()) members_ += ',';
  members_ += json_string(key);
  members_ += ':';
  members_ += json;
  return *this;
}

JsonObject& JsonObject::put_members(std::string_view object) {
  const std::string_view inside = object.substr(1, object.size() - 2);
  if (!members_.empty() && !inside.empty()) members_ += ',';
  members_ += inside;
  return *this;
}

std::string indented_json(std::string_view json) {
  std::string out;
  std::size_t level = 0;
  const auto new_line = [&] { out += '\n' + std::string(2 * level, ' '); };
  for (std::size_t i = 0; i < json.size();) {
    const char c = json[i];
    const std::size_t flat_end = c == '[' ? end_of_flat_array(json, i) : std::string_view::npos;
    if (c == '"' || flat_end != std::string_view::npos) {
      const std::size_t end = c == '"' ? end_of_string(json, i) : flat_end;
      out += c == '"' ? std::string(json.substr(i, end - i)) : spaced(json.substr(i, end - i));
      i = end;
      continue;
    }
    const bool is_empty = c == '{' && i + 1 < json.size() && json[i + 1] == '}';
    if (is_empty) {
      out += "{}";
      i += 2;
      continue;
    }
    if (c == '}' || c == ']') {
      --level;
      new_line();
    }
    out += c;
    if (c == '{' || c == '[') ++level;
    if (c == '{' || c == '[' || c == ',') new_line();
    if (c == ':') out += ' ';
    ++i;
  }
  return out;
}

}  // namespace dlaunch::jobfile
