#include "jobfile/value_reader.h"

#include "jobfile/expectation.h"
#include "jobfile/field_table.h"
#include "jobfile/scalar.h"
#include "model/signal_names.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

std::optional<Value> ValueReader::read(const Field& field, const Entry& entry) const {
  if (document_[entry.value].kind == NodeKind::null) {
    return error(
        entry, name_of(entry) + " has no value; remove the key, or give it " + expectation(field));
  }
  switch (field.kind) {
    case Kind::text:
      return read_text(field, entry);
    case Kind::boolean:
      return read_boolean(field, entry);
    case Kind::integer:
      return read_integer(field, entry);
    case Kind::number:
      return read_number(field, entry);
    case Kind::choice:
      return read_word(field, entry);
    case Kind::duration:
      return read_duration(field, entry);
    case Kind::duration_range:
      return read_duration_range(field, entry);
    case Kind::size:
      return read_size(field, entry);
    case Kind::signal:
      return read_signal(field, entry);
    case Kind::text_list:
    case Kind::name_list:
    case Kind::name_pattern_list:
      return read_texts(field, entry);
    case Kind::integer_list:
      return read_integers(field, entry);
    case Kind::choice_list:
      return read_words(field, entry);
    case Kind::choice_or_integers:
      return read_choice_or_integers(field, entry);
    case Kind::environment:
    case Kind::text_map:
      return read_map(field, entry);
    case Kind::command:
      return read_command(field, entry);
    case Kind::record_list:
      break;
  }
  return wrong_type(field, entry);
}

SourceRange ValueReader::range_of(const Entry& entry) const {
  const Node& node = document_[entry.value];
  return node.kind == NodeKind::scalar && !node.range.is_whole() ? node.range : entry.key;
}

std::string ValueReader::name_of(const Entry& entry) const {
  return diagnostics_.key_at(entry.path, range_of(entry));
}

std::nullopt_t ValueReader::wrong_type(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  return error(entry, name_of(entry) + " must be " + expectation(field) + ", not " +
                          found_instead(node) + correction(field, node));
}

std::nullopt_t ValueReader::error(const Entry& entry, std::string message) const {
  diagnostics_.error(range_of(entry), std::move(message));
  return std::nullopt;
}

const Keyword* ValueReader::word_in(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  return is_text(node) ? find_word(field, node.text) : nullptr;
}

std::optional<Value> ValueReader::read_text(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (!is_text(node)) return wrong_type(field, entry);
  if (trimmed(node.text).empty()) return error(entry, name_of(entry) + " must not be empty");
  if (const std::string problem = field.problem == nullptr ? "" : field.problem(node.text);
      !problem.empty()) {
    return error(entry, name_of(entry) + ": " + problem);
  }
  return Value(node.text);
}

std::optional<Value> ValueReader::read_boolean(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (!is_plain_type(node, PlainType::boolean)) return wrong_type(field, entry);
  return Value(node.text[0] == 't' || node.text[0] == 'T');
}

std::optional<std::int64_t> ValueReader::integer_in_range(const Field& field,
                                                          const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (is_plain_type(node, PlainType::integer)) {
    const auto number = parse_integer(node.text);
    if (number && *number >= field.min && *number <= field.max) return number;
  }
  return wrong_type(field, entry);
}

std::optional<Value> ValueReader::read_integer(const Field& field, const Entry& entry) const {
  if (const Keyword* word = word_in(field, entry)) return Value(word);
  if (const auto number = integer_in_range(field, entry)) return Value(*number);
  return std::nullopt;
}

std::optional<Value> ValueReader::read_number(const Field& field, const Entry& entry) const {
  if (const Keyword* word = word_in(field, entry)) return Value(word);
  const Node& node = document_[entry.value];
  if (is_plain_type(node, PlainType::integer) || is_plain_type(node, PlainType::floating)) {
    if (const auto number = parse_number(node.text); number && *number > 0) return Value(*number);
  }
  return wrong_type(field, entry);
}

std::optional<Value> ValueReader::read_word(const Field& field, const Entry& entry) const {
  if (const Keyword* word = word_in(field, entry)) return Value(word);
  return wrong_type(field, entry);
}

std::optional<Duration> ValueReader::in_range(const Field& field, const Entry& entry,
                                              Duration value) const {
  if (value.count() >= field.min && value.count() <= field.max) return value;
  const bool is_short = value.count() < field.min;
  return error(entry, name_of(entry) + " must be at " + (is_short ? "least " : "most ") +
                          duration_text(Duration(is_short ? field.min : field.max)));
}

std::optional<Value> ValueReader::read_duration(const Field& field, const Entry& entry) const {
  if (const Keyword* word = word_in(field, entry)) return Value(word);
  const Node& node = document_[entry.value];
  if (is_text(node)) {
    if (const auto duration = parse_duration(node.text)) {
      if (const auto value = in_range(field, entry, *duration)) return Value(*value);
      return std::nullopt;
    }
  }
  return wrong_type(field, entry);
}

std::optional<Value> ValueReader::read_duration_range(const Field& field,
                                                      const Entry& entry) const {
  const Node& node = document_[entry.value];
  const auto dots = node.text.find("..");
  if (is_text(node) && dots != std::string::npos) {
    const auto first = parse_duration(std::string_view(node.text).substr(0, dots));
    const auto last = parse_duration(std::string_view(node.text).substr(dots + 2));
    if (first && last && *first <= *last) return Value(std::pair(*first, *last));
    if (first && last)
      return error(entry, name_of(entry) + " must go from the shorter to the longer duration");
  }
  return wrong_type(field, entry);
}

std::optional<Value> ValueReader::read_size(const Field& field, const Entry& entry) const {
  const Node& node = document_[entry.value];
  if (is_text(node)) {
    if (const auto bytes = parse_size(node.text); bytes && *bytes > 0) return Value(*bytes);
  }
  return wrong_type(field, entry);
}

std::optional<Value> ValueReader::read_signal(const Field& field, const Entry& entry) const {
  constexpr std::size_t kPrefix = 3;  // of "SIGTERM"
  const Node& node = document_[entry.value];
  if (is_text(node)) {
    if (const auto number = signal_number(node.text))
      return Value(signal_name(*number).substr(kPrefix));
  }
  return wrong_type(field, entry);
}

}  // namespace dlaunch::jobfile
