#include "jobfile/field_reader.h"

#include "jobfile/expectation.h"
#include "jobfile/scalar.h"
#include "jobfile/suggestion.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

void FieldReader::read(NodeId root, JobSpec& job) {
  read_mapping(root, {}, {}, job);
}

void FieldReader::read_mapping(NodeId mapping, const Section& section, SourceRange at,
                               JobSpec& job) {
  for (const Document::Entry& entry : document_.entries(mapping))
    read_entry(section, document_[entry.key], entry.value, job);
  if (!section.prefix.empty()) require_keys(section, mapping, at);
}

void FieldReader::read_entry(const Section& section, const Node& key, NodeId value, JobSpec& job) {
  const std::string row = section.prefix + key.text;
  const Entry entry{section.path + key.text, key.range, value};
  const bool is_plain_name =
      key.text.find_first_of(".*[]") == std::string::npos && !key.text.empty();
  if (const Field* field = is_plain_name ? find_field(row) : nullptr) {
    read_field(*field, entry, job);
  } else if (is_plain_name && is_section(row + ".")) {
    read_section({row + ".", entry.path + "."}, entry, job);
  } else {
    unknown_key(section, key);
  }
}

void FieldReader::read_field(const Field& field, const Entry& entry, JobSpec& job) {
  note(entry);
  const Node& node = document_[entry.value];
  if (!node.reported) {
    if (field.kind == Kind::record_list) return read_record_list(field, entry, job);
    if (!field.record.empty() && node.kind == NodeKind::mapping)
      return read_record(field, entry, job);
    if (const auto value = values_.read(field, entry)) return field.write(job, *value);
  }
  given_[entry.path].good = false;
}

// Reads the mapping form of a field, such as nodes: {min, max}.
void FieldReader::read_record(const Field& field, const Entry& entry, JobSpec& job) {
  const Section section{std::string(field.record), entry.path + "."};
  // Roles are items of a list in JobSpec, so each needs its item before its keys are read.
  if (field.record.find('*') != std::string_view::npos) field.write(job, Value());
  if (field.kind == Kind::boolean) field.write(job, Value(true));
  read_mapping(entry.value, section, entry.key, job);
}

void FieldReader::read_record_list(const Field& field, const Entry& entry, JobSpec& job) {
  const Node& node = document_[entry.value];
  if (const Keyword* word = is_text(node) ? find_word(field, node.text) : nullptr) {
    field.write(job, Value(word));
    return;
  }
  const Field* first = field_of_text_item(field);
  if (first != nullptr && is_text(node)) {  // a single item
    field.write(job, Value());
    read_field(*first, entry, job);
    return;
  }
  if (node.kind != NodeKind::sequence) {
    given_[entry.path].good = false;
    values_.wrong_type(field, entry);
    return;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const NodeId id = node.items[i];
    const Entry item{entry.path + "[" + std::to_string(i) + "]", document_[id].range, id};
    if (document_[id].kind == NodeKind::mapping) {
      field.write(job, Value());
      read_mapping(id, {std::string(field.record), item.path + "."}, item.key, job);
    } else if (first != nullptr) {
      field.write(job, Value());
      read_field(*first, item, job);
    } else {
      diagnostics_.error(item.key, item.path + " must be a mapping with " +
                                       joined(names_under(field.record)) + ", not " +
                                       found_instead(document_[id]));
    }
  }
}

void FieldReader::read_section(const Section& section, const Entry& entry, JobSpec& job) {
  note(entry);
  const Node& node = document_[entry.value];
  if (node.kind != NodeKind::mapping) {
    if (node.reported) return;
    given_[entry.path].good = false;
    diagnostics_.error(values_.range_of(entry), entry.path + " must be a mapping with the keys " +
                                                    joined(names_under(section.prefix)) + ", not " +
                                                    found_instead(node));
    return;
  }
  read_mapping(entry.value, section, entry.key, job);
}

void FieldReader::require_keys(const Section& section, NodeId mapping, SourceRange at) {
  for (const std::string_view name : names_under(section.prefix)) {
    const Field* field = find_field(section.prefix + std::string(name));
    if (field == nullptr || !field->required) continue;
    if (document_.find(mapping, name)) continue;
    const std::string where = section.path.substr(0, section.path.size() - 1);
    diagnostics_.error(at, where + " needs the key " + std::string(name));
    if (const auto record = given_.find(where); record != given_.end()) record->second.good = false;
  }
}

void FieldReader::note(const Entry& entry) {
  given_[entry.path] = {entry.key, values_.range_of(entry), true};
  const Node& node = document_[entry.value];
  if (node.kind != NodeKind::mapping && node.kind != NodeKind::sequence) return;
  const bool is_mapping = node.kind == NodeKind::mapping;
  for (std::size_t i = 0; i < node.items.size(); i += is_mapping ? 2 : 1) {
    const Node& item = document_[node.items[i]];
    if (item.kind == NodeKind::scalar)
      given_[entry.path + "." + item.text] = {item.range, item.range, true};
  }
}

void FieldReader::unknown_key(const Section& section, const Node& key) {
  std::string message = "unknown key " + in_quotes(key.text);
  if (!section.path.empty()) message += " in " + section.path.substr(0, section.path.size() - 1);
  diagnostics_.error(key.range, message + advice_for_unknown_key(section.prefix, key.text));
}

}  // namespace dlaunch::jobfile
