#include "jobfile/yaml_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "jobfile/scalar.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::size_t kLongestLine = 78;
/// A longer key needs the explicit key indicator (YAML 1.2.2, 7.4.2).
constexpr std::size_t kLongestKey = 1000;

/// Texts that are special in YAML 1.1, and therefore for some other parsers.
bool is_word_of_yaml_1_1(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords{"y", "n", "yes", "no", "on", "off", "=", "<<"};
  return contains(kWords, lower(text));
}

/// Whether the text needs no quotes, not even in brackets (YAML 1.2.2, 7.3.3); conservative.
bool is_safe_plain(std::string_view text) {
  constexpr std::string_view kInside = " _-./=+$~^%";
  if (text.empty() || type_of_plain(text) != PlainType::text || is_word_of_yaml_1_1(text))
    return false;
  const char first = text.front();
  const bool begins_well =
      is_letter_or_digit(first) || first == '_' || first == '/' || first == '$' || first == '.' ||
      (text.size() > 1 && first == '-' && text[1] != ' ' && !text.starts_with("---"));
  if (!begins_well || text.back() == ' ') return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || kInside.find(c) != std::string_view::npos;
  });
}

/// A double-quoted scalar (YAML 1.2.2, 5.7).
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text.substr(i));
    const std::string_view bytes = text.substr(i, c.size);
    i += c.size;
    if (bytes == "\n") {
      out += "\\n";
    } else if (bytes == "\t") {
      out += "\\t";
    } else if (bytes == "\"" || bytes == "\\") {
      out.append("\\").append(bytes);
    } else if (c.valid && is_printable(c.value)) {
      out += bytes;
    } else {
      char code[16];
      std::snprintf(code, sizeof code, c.value < 0x10000 ? "\\u%04x" : "\\U%08x",
                    static_cast<unsigned>(c.value));
      out += code;
    }
  }
  return out + '"';
}

bool is_block_text(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.front() == '\n' || text.front() == ' ')
    return false;
  if (text.ends_with("\n\n")) return false;
  bool line_begins = true;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint c = decode_utf8(text.substr(i));
    const bool is_line_end = text[i] == '\n';
    if (line_begins && text[i] == '\t') return false;
    // A line that ends in a blank may contain only blanks, which could be taken for indentation.
    if (is_line_end && i > 0 && text[i - 1] == ' ') return false;
    if (!is_line_end && text[i] != '\t' && !(c.valid && is_printable(c.value))) return false;
    line_begins = is_line_end;
    i += c.size;
  }
  return text.back() != ' ' && text.back() != '\t';
}

class Writer {
 public:
  explicit Writer(const Document& document) : document_(document) {}

  std::string take() { return std::move(out_); }

  void mapping(NodeId id, std::size_t indent) {
    for (const Document::Entry& entry : document_.entries(id)) {
      const std::string name = inline_scalar(document_[entry.key]);
      out_.append(indent, ' ');
      if (name.size() > kLongestKey) {
        out_ += "? " + name + '\n';
        out_.append(indent, ' ') += ':';
      } else {
        out_ += name + ':';
      }
      value(entry.value, indent);
    }
  }

 private:
  static std::string inline_scalar(const Node& node) {
    if (node.kind == NodeKind::null) return "null";
    if (node.plain && type_of_plain(node.text) != PlainType::text) return node.text;
    return is_safe_plain(node.text) ? node.text : quoted(node.text);
  }

  /// "[a, b]"; empty: longer than `room`, or not a list of scalars.
  [[nodiscard]] std::string flow_list(const Node& node, std::size_t room) const {
    std::string line = "[";
    for (const NodeId item : node.items) {
      if (document_[item].kind != NodeKind::scalar) return "";
      line += (line.size() == 1 ? "" : ", ") + inline_scalar(document_[item]);
      if (line.size() + 1 > room) return "";
    }
    return line + ']';
  }

  /// Writes a value after a key or a dash.
  void value(NodeId id, std::size_t indent) {
    const Node& node = document_[id];
    switch (node.kind) {
      case NodeKind::null:
      case NodeKind::scalar:
        return scalar(node, indent);
      case NodeKind::mapping:
        if (node.items.empty()) {
          out_ += " {}\n";
          return;
        }
        out_ += '\n';
        return mapping(id, indent + 2);
      case NodeKind::sequence:
        return sequence(node, indent);
    }
  }

  void scalar(const Node& node, std::size_t indent) {
    if (node.kind == NodeKind::null || !is_block_text(node.text)) {
      out_ += ' ' + inline_scalar(node) + '\n';
      return;
    }
    out_ += node.text.back() == '\n' ? " |\n" : " |-\n";
    std::string_view rest = node.text;
    if (rest.back() == '\n') rest.remove_suffix(1);
    while (true) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (!line.empty()) out_.append(indent + 2, ' ');
      out_.append(line).append("\n");
      if (line.size() == rest.size()) return;
      rest.remove_prefix(line.size() + 1);
    }
  }

  void sequence(const Node& node, std::size_t indent) {
    const std::string line =
        flow_list(node, kLongestLine - std::min<std::size_t>(indent + 20, kLongestLine - 10));
    if (!line.empty()) {
      out_ += ' ' + line + '\n';
      return;
    }
    out_ += '\n';
    for (const NodeId item : node.items) {
      out_.append(indent + 2, ' ');
      out_ += '-';
      value(item, indent + 2);
    }
  }

  const Document& document_;
  std::string out_;
};

}  // namespace

std::string write_yaml(const Document& document, NodeId root) {
  Writer writer(document);
  writer.mapping(root, 0);
  return writer.take();
}

}  // namespace dlaunch::jobfile
