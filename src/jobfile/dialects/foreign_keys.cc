#include "jobfile/dialects/foreign_keys.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "jobfile/expectation.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

std::string folded(std::string_view name) {
  std::string out = lower(name);
  std::erase_if(out, [](char c) { return c == '_' || c == '-'; });
  return out;
}

bool same_name(std::string_view a, std::string_view b, Spelling spelling) {
  return a == b || (spelling == Spelling::loose && folded(a) == folded(b));
}

/// True for "comunicator": with one letter missing, added or wrong, it is too close to `name` to be
/// another key.
bool is_slip(std::string_view written, std::string_view name) {
  const auto difference =
      static_cast<std::ptrdiff_t>(written.size()) - static_cast<std::ptrdiff_t>(name.size());
  return written != name && std::abs(difference) <= 1 && nearest(written, {name}).has_value();
}

/// "; write it as [--epochs, 3]"
std::string as_list(const Node& node) {
  const bool is_plain_text = node.kind == NodeKind::scalar && node.text.size() <= 80 &&
                             node.text.find_first_of("\n\"'\\,:[]{}#$") == std::string::npos;
  if (!is_plain_text) return "";
  std::string words;
  for (const char c : node.text) {
    if (c != ' ') {
      words += c;
    } else if (!words.ends_with(' ')) {
      words += ", ";
    }
  }
  return "; write it as [" + words + ']';
}

bool has_value(const Document& document, NodeId id) {
  const Node& node = document[id];
  const bool is_null = is_plain_type(node, PlainType::null);
  return node.kind != NodeKind::null && !is_null;
}

}  // namespace

SourceRange range_of(const Document& document, const ForeignKey& key) {
  const Node& node = document[key.value];
  return node.kind == NodeKind::scalar && !node.range.is_whole() ? node.range : key.key;
}

std::optional<NodeId> value_of(const Document& document, NodeId mapping, std::string_view key,
                               Spelling spelling) {
  for (const auto [name, value] : document.entries(mapping)) {
    if (same_name(document[name].text, key, spelling) &&
        (has_value(document, value) || document[value].reported))
      return value;
  }
  return std::nullopt;
}

std::optional<std::string> scalar_of(const Document& document, NodeId mapping, std::string_view key,
                                     Spelling spelling) {
  const auto value = value_of(document, mapping, key, spelling);
  if (!value || document[*value].kind != NodeKind::scalar) return std::nullopt;
  return document[*value].text;
}

ForeignKeys::ForeignKeys(const Document& document, Diagnostics& diagnostics, Spelling spelling,
                         NodeId mapping, std::string path)
    : document_(&document),
      diagnostics_(&diagnostics),
      spelling_(spelling),
      node_(mapping),
      path_(std::move(path)),
      range_(document[mapping].range),
      is_given_(true) {
  for (const auto [key, value] : document.entries(mapping))
    items_.push_back({{document[key].text, document[key].range, value}});
}

std::string ForeignKeys::path_of(const std::string& name) const {
  return path_.empty() ? name : path_ + '.' + name;
}

std::optional<ForeignKey> ForeignKeys::find(std::string_view name) {
  asked_.emplace_back(name);
  std::optional<ForeignKey> found;
  for (Item& item : items_) {
    if (!same_name(item.key.name, name, spelling_)) continue;
    item.asked = true;
    if (!found && has_value(*document_, item.key.value)) found = item.key;
  }
  return found;
}

std::optional<LocatedText> ForeignKeys::text(std::string_view name) {
  const auto key = find(name);
  if (!key) return std::nullopt;
  const Node& node = (*document_)[key->value];
  if (node.kind == NodeKind::scalar) return LocatedText{node.text, range_of(*document_, *key)};
  error(key->key, path_of(key->name) + " must be a string, not " + found_instead(node));
  return std::nullopt;
}

std::optional<LocatedNumber> ForeignKeys::integer(std::string_view name, std::int64_t min,
                                                  std::int64_t max) {
  const auto key = find(name);
  if (!key) return std::nullopt;
  const Node& node = (*document_)[key->value];
  const SourceRange at = range_of(*document_, *key);
  const auto number =
      node.kind == NodeKind::scalar ? parse_integer(node.text) : std::optional<std::int64_t>();
  if (number && *number >= min && *number <= max) return LocatedNumber{*number, at};
  error(at, path_of(key->name) + " must be a whole number from " + std::to_string(min) + " to " +
                std::to_string(max) + ", not " + found_instead(node));
  return std::nullopt;
}

bool ForeignKeys::is_true(std::string_view name) {
  const auto key = find(name);
  if (!key) return false;
  const Node& node = (*document_)[key->value];
  const std::string text = folded(node.text);
  if (node.kind == NodeKind::scalar && (text == "true" || text == "yes" || text == "1"))
    return true;
  const bool is_false =
      node.kind == NodeKind::scalar && (text == "false" || text == "no" || text == "0");
  if (!is_false) {
    error(range_of(*document_, *key),
          path_of(key->name) + " must be true or false, not " + found_instead(node));
  }
  return false;
}

ForeignKeys ForeignKeys::mapping(std::string_view name, Spelling below) {
  const auto key = find(name);
  if (!key) return {*document_, *diagnostics_, below};
  const Node& node = (*document_)[key->value];
  if (node.kind == NodeKind::mapping) {
    ForeignKeys keys(*document_, *diagnostics_, below, key->value, path_of(key->name));
    keys.range_ = key->key;
    return keys;
  }
  error(range_of(*document_, *key),
        path_of(key->name) + " must be a mapping, not " + found_instead(node));
  return {*document_, *diagnostics_, below};
}

std::vector<NodeId> ForeignKeys::list(std::string_view name) {
  const auto key = find(name);
  if (!key) return {};
  const Node& node = (*document_)[key->value];
  if (node.kind == NodeKind::sequence) return node.items;
  error(range_of(*document_, *key),
        path_of(key->name) + " must be a list, not " + found_instead(node) + as_list(node));
  if (node.kind == NodeKind::scalar) return {key->value};
  return {};
}

std::vector<LocatedText> ForeignKeys::texts(std::string_view name) {
  std::vector<LocatedText> texts;
  for (const NodeId id : list(name)) {
    const Node& node = (*document_)[id];
    if (node.kind == NodeKind::scalar) {
      texts.push_back({node.text, node.range});
    } else {
      error(node.range,
            path_of(std::string(name)) + " must contain only strings, not " + found_instead(node));
    }
  }
  return texts;
}

std::vector<ForeignKey> ForeignKeys::all() {
  std::vector<ForeignKey> keys;
  for (Item& item : items_) {
    item.asked = true;
    keys.push_back(item.key);
  }
  return keys;
}

void ForeignKeys::skip(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) static_cast<void>(find(name));
}

std::vector<LocatedText> ForeignKeys::given_of(std::initializer_list<std::string_view> names) {
  std::vector<LocatedText> given;
  for (const std::string_view name : names) {
    if (const auto key = find(name)) given.push_back({path_of(key->name), key->key});
  }
  return given;
}

std::vector<LocatedText> ForeignKeys::others() const {
  std::vector<LocatedText> others;
  for (const Item& item : items_) {
    if (!item.asked) others.push_back({path_of(item.key.name), item.key.key});
  }
  return others;
}

void ForeignKeys::refuse_others() {
  const std::vector<std::string_view> known(asked_.begin(), asked_.end());
  for (Item& item : items_) {
    if (item.asked) continue;
    item.asked = true;
    std::string message = "unknown key " + in_quotes(item.key.name);
    if (!path_.empty()) message += " in " + path_;
    error(item.key.key, message + did_you_mean(item.key.name, known));
  }
}

bool ForeignKeys::has_mistake(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
    if (same_name(item.key.name, name, spelling_)) return (*document_)[item.key.value].reported;
    return !item.asked && is_slip(item.key.name, name);
  });
}

void ForeignKeys::refuse_misspelt() {
  for (Item& item : items_) {
    if (item.asked) continue;
    for (const std::string& name : asked_) {
      if (!is_slip(item.key.name, name)) continue;
      item.asked = true;
      error(item.key.key, "unknown key " + in_quotes(item.key.name) +
                              (path_.empty() ? "" : " in " + path_) + ", did you mean " +
                              in_quotes(name) + '?');
      break;
    }
  }
}

}  // namespace dlaunch::jobfile
