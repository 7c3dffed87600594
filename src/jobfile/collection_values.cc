// The part of ValueReader that reads lists, mappings and commands.
#include "jobfile/expectation.h"
#include "jobfile/field_table.h"
#include "jobfile/scalar.h"
#include "jobfile/value_reader.h"
#include "model/environment.h"

namespace dlaunch::jobfile {

namespace {

bool is_name_pattern(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (c == '*' || c == '?') c = '_';
  }
  return is_variable_name(name);
}

}  // namespace

Entry ValueReader::item_entry(const Entry& list, std::size_t index) const {
  const NodeId item = document_[list.value].items[index];
  return {list.path + "[" + std::to_string(index) + "]", document_[item].range, item};
}

bool ValueReader::is_list(const Field& field, const Entry& entry) const {
  if (document_[entry.value].kind == NodeKind::sequence) return true;
  wrong_type(field, entry);
  return false;
}

std::optional<std::string> ValueReader::list_text(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (node.reported) return "";
  if (!is_text(node) || node.text.empty()) {
    const std::string quotes = is_plain_type(node, PlainType::text) || node.kind != NodeKind::scalar
                                   ? ""
                                   : "; put it in quotes: \"" + node.text + "\"";
    return error(entry, name_of(entry) + " must be a string, not " + found_instead(node) +
                            (node.plain ? quotes : ""));
  }
  if (const std::string problem = field.problem == nullptr ? "" : field.problem(node.text);
      !problem.empty()) {
    return error(entry, name_of(entry) + ": " + problem);
  }
  const bool is_good =
      field.kind == Kind::text_list ||
      (field.kind == Kind::name_list ? is_variable_name(node.text) : is_name_pattern(node.text));
  if (is_good) return node.text;
  std::string message = name_of(entry) + ": " + in_quotes(node.text) + " is not a variable name";
  if (node.text.find('=') != std::string::npos)
    message += "; values are given in env";
  else if (field.kind == Kind::name_list && is_name_pattern(node.text))
    message += "; patterns are for env_pass";
  return error(entry, std::move(message));
}

std::optional<Value> ValueReader::read_texts(const Field& field, const Entry& entry) const {
  if (!is_list(field, entry)) return std::nullopt;
  std::vector<std::string> texts;
  bool good = true;
  for (std::size_t i = 0; i < document_[entry.value].items.size(); ++i) {
    auto text = list_text(field, item_entry(entry, i));
    good = good && text;
    if (text) texts.push_back(std::move(*text));
  }
  return good ? std::optional<Value>(std::move(texts)) : std::nullopt;
}

std::optional<Value> ValueReader::read_integers(const Field& field, const Entry& entry) const {
  if (!is_list(field, entry)) return std::nullopt;
  Field item = field;
  item.kind = Kind::integer;
  item.words = {};
  std::vector<std::int64_t> numbers;
  bool good = true;
  for (std::size_t i = 0; i < document_[entry.value].items.size(); ++i) {
    const auto number = integer_in_range(item, item_entry(entry, i));
    good = good && number;
    if (number) numbers.push_back(*number);
  }
  return good ? std::optional<Value>(std::move(numbers)) : std::nullopt;
}

std::optional<Value> ValueReader::read_words(const Field& field, const Entry& entry) const {
  if (!is_list(field, entry)) return std::nullopt;
  Field item = field;
  item.kind = Kind::choice;
  std::vector<const Keyword*> words;
  bool good = true;
  for (std::size_t i = 0; i < document_[entry.value].items.size(); ++i) {
    const auto word = read_word(item, item_entry(entry, i));
    good = good && word;
    if (word) words.push_back(std::get<const Keyword*>(*word));
  }
  return good ? std::optional<Value>(std::move(words)) : std::nullopt;
}

std::optional<Value> ValueReader::read_choice_or_integers(const Field& field,
                                                          const Entry& entry) const {
  if (document_[entry.value].kind != NodeKind::sequence) return read_word(field, entry);
  return read_integers(field, entry);
}

// Numbers and booleans keep the spelling of the file: 1.10 stays 1.10.
std::optional<std::string> ValueReader::map_text(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  const bool by_spelling = field.kind == Kind::environment && node.kind == NodeKind::scalar;
  if (is_text(node) || by_spelling || node.reported) return node.text;
  if (node.kind == NodeKind::null) {
    error(entry, name_of(entry) + " has no value; write \"\" for an empty one");
  } else {
    error(entry, name_of(entry) + " must be a string, not " + found_instead(node));
  }
  return std::nullopt;
}

std::optional<Value> ValueReader::read_map(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (node.kind != NodeKind::mapping) return wrong_type(field, entry);
  Environment values;
  bool good = true;
  for (const Document::Entry& one : document_.entries(entry.value)) {
    const Node& name = document_[one.key];
    const Entry item{entry.path + "." + name.text, name.range, one.value};
    if (field.kind == Kind::environment && !is_variable_name(name.text)) {
      diagnostics_.error(name.range,
                         name_of(entry) + ": " + in_quotes(name.text) + " is not a variable name");
      good = false;
      continue;
    }
    auto text = map_text(field, item);
    good = good && text;
    if (text) values.emplace(name.text, std::move(*text));
  }
  return good ? std::optional<Value>(std::move(values)) : std::nullopt;
}

std::optional<std::string> ValueReader::argument(const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (node.kind == NodeKind::scalar || node.reported) return node.text;
  const char* advice = node.kind == NodeKind::null ? "; put it in quotes" : "";
  return error(entry, name_of(entry) + " must be a string, not " + found_instead(node) + advice);
}

std::optional<Value> ValueReader::read_command(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (node.kind == NodeKind::mapping) return wrong_type(field, entry);
  if (node.kind == NodeKind::scalar) {
    if (node.text.find_first_not_of(" \t\n") != std::string::npos)
      return Value(Command{true, node.text, {}});
    return error(entry, name_of(entry) + " must not be empty");
  }
  Command command;
  bool good = true;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    auto text = argument(item_entry(entry, i));
    good = good && text;
    if (text) command.argv.push_back(std::move(*text));
  }
  if (!good) return std::nullopt;
  if (command.argv.empty() || command.argv[0].empty())
    return error(entry, name_of(entry) + " must begin with the program to run");
  return Value(std::move(command));
}

}  // namespace dlaunch::jobfile
