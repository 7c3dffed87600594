// Converts a node to the value of one field, with actionable errors.
#pragma once

#include <optional>
#include <string>

#include "jobfile/diagnostics.h"
#include "jobfile/document.h"
#include "jobfile/field_table.h"

namespace dlaunch::jobfile {

/// A key in the document.
struct Entry {
  std::string path;  // "timeouts.stop", "env.RANK": for messages
  SourceRange key;
  NodeId value = 0;
};

class ValueReader {
 public:
  ValueReader(const Document& document, Diagnostics& diagnostics)
      : document_(document), diagnostics_(diagnostics) {}

  /// Reads all kinds except record_list and the mapping form of `field.record`. Nullopt: an error
  /// was reported.
  [[nodiscard]] std::optional<Value> read(const Field& field, const Entry& entry) const;

  /// The range to point at: the value, or its key if the value is empty or starts on a later line.
  [[nodiscard]] SourceRange range_of(const Entry& entry) const;

  /// Reports "PATH must be EXPECTED, not ACTUAL", with a suggestion if there is one. Returns
  /// nullopt, for its caller to return.
  std::nullopt_t wrong_type(const Field& field, const Entry& entry) const;


 private:
  [[nodiscard]] std::optional<Value> read_text(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_boolean(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_integer(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_number(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_word(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_duration(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_duration_range(const Field& field,
                                                         const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_size(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_signal(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_texts(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_integers(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_words(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_choice_or_integers(const Field& field,
                                                             const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_map(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<Value> read_command(const Field& field, const Entry& entry) const;

  /// The keyword of the field that the entry spells; nullptr: none.
  [[nodiscard]] const Keyword* word_in(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<std::int64_t> integer_in_range(const Field& field,
                                                             const Entry& entry) const;
  [[nodiscard]] std::optional<Duration> in_range(const Field& field, const Entry& entry,
                                                 Duration value) const;
  [[nodiscard]] bool is_list(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<std::string> list_text(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<std::string> map_text(const Field& field, const Entry& entry) const;
  [[nodiscard]] std::optional<std::string> argument(const Entry& entry) const;
  [[nodiscard]] Entry item_entry(const Entry& list, std::size_t index) const;
  std::nullopt_t error(const Entry& entry, std::string message) const;
  /// The key as the file writes it.
  [[nodiscard]] std::string name_of(const Entry& entry) const;

  const Document& document_;
  Diagnostics& diagnostics_;
};

}  // namespace dlaunch::jobfile
