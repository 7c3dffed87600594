// Reads one mapping of a foreign file, key by key, and tracks the keys that were never read.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/diagnostics.h"
#include "jobfile/dialects/native_job.h"
#include "jobfile/document.h"

namespace dlaunch::jobfile {

/// loose: worker_count, workerCount and WorkerCount are the same key.
enum class Spelling { exact, loose };

struct ForeignKey {
  std::string name;  // as written
  SourceRange key;
  NodeId value = 0;
};

/// The limit of native keys for counts of nodes, processes and so on.
inline constexpr std::int64_t kMostCounted = 100'000;

struct LocatedNumber {
  std::int64_t value = 0;
  SourceRange range;
};

/// The range to point at: the value, or its key if the value is empty or starts on a later line.
[[nodiscard]] SourceRange range_of(const Document& document, const ForeignKey& key);

/// The value of a key of a mapping; nullopt: not a mapping, no such key, or no value. A value with
/// a reported error is returned as null, because it still identifies the dialect.
[[nodiscard]] std::optional<NodeId> value_of(const Document& document, NodeId mapping,
                                             std::string_view key,
                                             Spelling spelling = Spelling::exact);

/// The text of a scalar; nullopt for anything else.
[[nodiscard]] std::optional<std::string> scalar_of(const Document& document, NodeId mapping,
                                                   std::string_view key,
                                                   Spelling spelling = Spelling::exact);

/// Errors name the key as the file spells it. A key without a value counts as absent.
class ForeignKeys {
 public:
  /// An empty mapping: all keys are absent.
  ForeignKeys(const Document& document, Diagnostics& diagnostics, Spelling spelling)
      : document_(&document), diagnostics_(&diagnostics), spelling_(spelling) {}
  /// `path` is the path of the mapping, for errors: "resources"; empty: the top level.
  ForeignKeys(const Document& document, Diagnostics& diagnostics, Spelling spelling, NodeId mapping,
              std::string path);

  [[nodiscard]] bool is_given() const { return is_given_; }
  [[nodiscard]] SourceRange range() const { return range_; }
  [[nodiscard]] NodeId node() const { return node_; }

  [[nodiscard]] std::optional<ForeignKey> find(std::string_view name);
  /// Any scalar, as written.
  [[nodiscard]] std::optional<LocatedText> text(std::string_view name);
  /// Accepts quoted numbers, too: several systems write counts as texts.
  [[nodiscard]] std::optional<LocatedNumber> integer(std::string_view name, std::int64_t min = 0,
                                                     std::int64_t max = kMostCounted);
  [[nodiscard]] bool is_true(std::string_view name);
  /// Empty if the key is absent or holds something else, which is reported.
  [[nodiscard]] ForeignKeys mapping(std::string_view name) { return mapping(name, spelling_); }
  /// The same, with another spelling for the keys inside.
  [[nodiscard]] ForeignKeys mapping(std::string_view name, Spelling below);
  /// A single value in place of a list is reported and returned as the only item.
  [[nodiscard]] std::vector<NodeId> list(std::string_view name);
  /// The texts of a list of scalars.
  [[nodiscard]] std::vector<LocatedText> texts(std::string_view name);
  /// All keys that have a value; marks them as read.
  [[nodiscard]] std::vector<ForeignKey> all();

  /// Marks these keys as read: they may be present, but have no effect.
  void skip(std::initializer_list<std::string_view> names);
  /// Those of `names` that are present.
  [[nodiscard]] std::vector<LocatedText> given_of(std::initializer_list<std::string_view> names);
  /// Reports the keys that were never read, and suggests the nearest name that was read.
  void refuse_others();
  /// Like refuse_others(), but only for keys that resemble a name that was read. For mappings that
  /// may have other keys.
  void refuse_misspelt();
  /// Whether `name` is missing because of an error that is or will be reported: its value is wrong,
  /// or an unread key resembles it.
  [[nodiscard]] bool has_mistake(std::string_view name) const;
  /// Keys that were never read.
  [[nodiscard]] std::vector<LocatedText> others() const;

  /// "resources.instance_count"
  [[nodiscard]] std::string path_of(const std::string& name) const;
  void error(SourceRange range, std::string message) const {
    diagnostics_->error(range, std::move(message));
  }

 private:
  struct Item {
    ForeignKey key;
    bool asked = false;
  };

  const Document* document_;
  Diagnostics* diagnostics_;
  Spelling spelling_;
  NodeId node_ = 0;
  std::string path_;
  SourceRange range_;
  bool is_given_ = false;
  std::vector<Item> items_;
  std::vector<std::string> asked_;
};

}  // namespace dlaunch::jobfile
