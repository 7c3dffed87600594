#include "jobfile/overrides.h"

#include <optional>
#include <string>
#include <vector>

#include "jobfile/field_table.h"
#include "jobfile/yaml_reader.h"

namespace dlaunch::jobfile {

namespace {

bool is_map(const Field& field) {
  return field.kind == Kind::environment || field.kind == Kind::text_map;
}

/// "env.A.B" is the variable "A.B" of env, so that errors show the whole name; other dots separate
/// levels.
std::vector<std::string> split_key(std::string_view key) {
  std::vector<std::string> parts;
  std::string path;
  while (true) {
    const auto dot = key.find('.');
    parts.emplace_back(key.substr(0, dot));
    path += (path.empty() ? "" : ".") + parts.back();
    if (dot == std::string_view::npos) return parts;
    key.remove_prefix(dot + 1);
    if (const Field* field = find_field(path); field != nullptr && is_map(*field)) {
      parts.emplace_back(key);
      return parts;
    }
  }
}

enum class Taking { yaml, text, command };

Taking how_to_take(std::string_view key, const std::vector<std::string>& parts) {
  if (const Field* field = find_field(key)) {
    if (field->kind == Kind::command) return Taking::command;
    return field->kind == Kind::text ? Taking::text : Taking::yaml;
  }
  const std::string parent(
      key.substr(0, key.size() - parts.back().size() - (parts.size() > 1 ? 1 : 0)));
  const Field* map = find_field(parent);
  return map != nullptr && is_map(*map) ? Taking::text : Taking::yaml;
}

std::optional<NodeId> value_of(const Sources& sources, std::uint32_t index, Taking taking,
                               Document& document, Diagnostics& diagnostics) {
  const std::string& text = sources[index].text;
  if (auto problems = check_text(text); !problems.empty()) {
    diagnostics.error(SourceRange::whole(index), std::move(problems.front().message));
    return std::nullopt;
  }
  if (text.empty()) return document.add_text(text, SourceRange::whole(index));
  if (taking == Taking::yaml) return read_yaml(sources, index, document, diagnostics);
  Diagnostics ignored(sources);
  const auto root = read_yaml(sources, index, document, ignored);
  if (root && ignored.empty()) {
    const Node& node = document[*root];
    const bool is_quoted =
        node.kind == NodeKind::scalar && !node.plain && text.find_first_of("\"'") == 0;
    const bool is_list = node.kind == NodeKind::sequence && text[0] == '[';
    if (is_quoted || (is_list && taking == Taking::command)) return root;
  }
  return document.add_text(text, SourceRange::whole(index));
}

/// The mapping under `key`, created if absent; a copy, because an alias may share the original.
NodeId step_down(Document& document, NodeId mapping, const std::string& key, std::uint32_t source) {
  const SourceRange at = SourceRange::whole(source);
  const auto old = document.find(mapping, key);
  const bool is_there = old && document[old->value].kind == NodeKind::mapping;
  const NodeId id = is_there ? document.add(Node(document[old->value])) : document.add_mapping(at);
  document.put(mapping, old ? old->key : document.add_text(key, at), id);
  return id;
}

void set_value(Document& document, NodeId mapping, const std::string& path, const std::string& key,
               NodeId value, std::uint32_t source) {
  const std::string full = path + key;
  const bool merges = document[value].kind == NodeKind::mapping && find_field(full) == nullptr &&
                      is_section(full + ".");
  if (!merges)
    return document.put(mapping, document.add_text(key, SourceRange::whole(source)), value);
  const NodeId section = step_down(document, mapping, key, source);
  for (const auto [name, below] : document.entries(value)) {
    const std::string copy = document[name].text;  // adding nodes moves the existing ones
    set_value(document, section, full + ".", copy, below, source);
  }
}

}  // namespace

void apply_override(const Sources& sources, std::uint32_t index, std::string_view key,
                    Document& document, NodeId root, Diagnostics& diagnostics) {
  const std::vector<std::string> parts = split_key(key);
  const auto value = value_of(sources, index, how_to_take(key, parts), document, diagnostics);
  if (!value) return;
  NodeId mapping = root;
  std::string path;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    mapping = step_down(document, mapping, parts[i], index);
    path += parts[i] + ".";
  }
  set_value(document, mapping, path, parts.back(), *value, index);
}

}  // namespace dlaunch::jobfile
