// Collects what is wrong with a job, so that all of it can be shown at once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"
#include "spec/key_names.h"
#include "spec/source.h"

namespace dlaunch::spec {

/// Text in quotes for a message: controls escaped, cut after about 60 characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// A message as a person may see it: what is not printable becomes '?', but for line feeds, and
/// lines are cut after 500 bytes.
[[nodiscard]] std::string presentable(std::string_view message);

class Diagnostics {
 public:
  /// `sources` must outlive this object.
  explicit Diagnostics(const Sources& sources) : sources_(&sources) {}

  void error(Place place, std::string message);

  /// True when so many errors came that further ones are only counted.
  [[nodiscard]] bool is_full() const { return entries_.size() >= kMostEntries; }

  /// "line 12", "train.yml, line 12" for a file that the job file names, or "--set nodes=4" for a
  /// place on the command line; to name a second place in a message.
  [[nodiscard]] std::string refer_to(Place place) const;

  [[nodiscard]] bool empty() const { return entries_.empty(); }

  /// How many errors came so far.
  [[nodiscard]] std::size_t count() const { return entries_.size() + dropped_; }

  /// The job was translated from a file whose keys have other names; `names` must outlive this
  /// object.
  void name_keys(std::span<const KeyName> names) { key_names_ = names; }

  /// The native key `path` by the name that it has where `place` is: in the file, or on the command
  /// line, where keys are native ones.
  [[nodiscard]] std::string key_at(std::string_view path, Place place) const;

  /// All errors by position, a blank line between them, at most 20 of them; exit code 65. Each is
  /// FILE:LINE:COLUMN: error: MESSAGE with the line and a caret below, or ARGUMENT: error: MESSAGE.
  [[nodiscard]] Error to_error() const;

 private:
  static constexpr std::size_t kMostEntries = 200;

  struct Entry {
    Place place;
    std::string message;
    auto operator<=>(const Entry&) const = default;
  };

  [[nodiscard]] std::string render(const Entry& entry) const;

  const Sources* sources_;
  std::span<const KeyName> key_names_;
  std::vector<Entry> entries_;
  std::size_t dropped_ = 0;
};

}  // namespace dlaunch::spec
