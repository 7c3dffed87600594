// Reads one mapping of a foreign file, key by key, and remembers which keys nobody asked for.
#pragma once

#include <cstdint>
#include <initializer_list>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/dialects/native_job.h"
#include "spec/document.h"

namespace dlaunch::spec {

/// loose: worker_count, workerCount and WorkerCount are one key.
enum class Spelling { exact, loose };

struct ForeignKey {
  std::string name;  // as written
  Place key;
  NodeId value = 0;
};

/// The limit of native keys for counts of nodes, processes and the like.
inline constexpr std::int64_t kMostCounted = 100'000;

struct PlacedNumber {
  std::int64_t value = 0;
  Place place;
};

/// Where to point for a value: at itself, or at its key if it is empty or starts on a later line.
[[nodiscard]] Place place_of(const Document& document, const ForeignKey& key);

/// The value of a key of a mapping; nullopt: no mapping, no such key, or nothing behind it. What
/// was reported is there, as a null: it tells which system a file is of.
[[nodiscard]] std::optional<NodeId> value_of(const Document& document, NodeId mapping,
                                             std::string_view key,
                                             Spelling spelling = Spelling::exact);

/// The text of a scalar; nullopt for anything else.
[[nodiscard]] std::optional<std::string> scalar_of(const Document& document, NodeId mapping,
                                                   std::string_view key,
                                                   Spelling spelling = Spelling::exact);

/// Reported errors name the key as the file writes it. A key without a value counts as absent.
class ForeignKeys {
 public:
  /// An empty mapping, all of whose keys are absent.
  ForeignKeys(const Document& document, Diagnostics& diagnostics, Spelling spelling)
      : document_(&document), diagnostics_(&diagnostics), spelling_(spelling) {}
  /// `path` leads to the mapping, for errors: "resources"; empty: the file itself.
  ForeignKeys(const Document& document, Diagnostics& diagnostics, Spelling spelling, NodeId mapping,
              std::string path);

  [[nodiscard]] bool is_given() const { return is_given_; }
  [[nodiscard]] Place place() const { return place_; }
  [[nodiscard]] NodeId node() const { return node_; }

  [[nodiscard]] std::optional<ForeignKey> find(std::string_view name);
  /// Any scalar, as written.
  [[nodiscard]] std::optional<PlacedText> text(std::string_view name);
  /// Also in quotes: several systems write counts as texts.
  [[nodiscard]] std::optional<PlacedNumber> integer(std::string_view name, std::int64_t min = 0,
                                                    std::int64_t max = kMostCounted);
  [[nodiscard]] bool is_true(std::string_view name);
  /// Empty where the key is absent or holds something else, which is reported.
  [[nodiscard]] ForeignKeys mapping(std::string_view name) { return mapping(name, spelling_); }
  /// Likewise, with another spelling inside.
  [[nodiscard]] ForeignKeys mapping(std::string_view name, Spelling below);
  /// What is one value instead of a list is reported, and the only item.
  [[nodiscard]] std::vector<NodeId> list(std::string_view name);
  /// The texts of a list of scalars.
  [[nodiscard]] std::vector<PlacedText> texts(std::string_view name);
  /// All keys with a value, asked for or not; they count as asked for now.
  [[nodiscard]] std::vector<ForeignKey> all();

  /// These may be there, and mean nothing to us.
  void skip(std::initializer_list<std::string_view> names);
  /// Those of `names` that are there.
  [[nodiscard]] std::vector<PlacedText> given_of(std::initializer_list<std::string_view> names);
  /// Reports the keys that nobody asked for, with the nearest name that was asked for.
  void refuse_others();
  /// Likewise, but only those that look like a name that was asked for: where others may be there.
  void refuse_misspelt();
  /// Whether `name` is missing for a reason that is or will be said: its value is a mistake, or a
  /// key that nobody has asked for so far looks like it.
  [[nodiscard]] bool has_mistake(std::string_view name) const;
  /// Keys that nobody asked for.
  [[nodiscard]] std::vector<PlacedText> others() const;

  /// "resources.instance_count"
  [[nodiscard]] std::string path_of(const std::string& name) const;
  void error(Place place, std::string message) const {
    diagnostics_->error(place, std::move(message));
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
  Place place_;
  bool is_given_ = false;
  std::vector<Item> items_;
  std::vector<std::string> asked_;
};

}  // namespace dlaunch::spec
