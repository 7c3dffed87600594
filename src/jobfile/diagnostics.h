// Collects all errors of a job file, so that one run shows all of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/source.h"
#include "model/result.h"

namespace dlaunch::jobfile {

/// The source line of `range` and a caret line, both within 80 columns:
///     7 |   proceses_per_node: 4
///       |   ^~~~~~~~~~~~~~~~~
/// Tabs advance to the next multiple of 8. Characters that a terminal could interpret appear as
/// '?'. Long lines are cut around the caret, with "..." at each cut. A range of several lines is
/// marked up to the end of its first line.
[[nodiscard]] std::string excerpt(std::string_view text, SourceRange range);

struct KeyName {
  std::string_view native;   // "roles.*.env", where * is any one name
  std::string_view foreign;  // "containerSpec.env"
};

/// `path` ("env.RANK", "container.mounts[0]") with its beginning replaced by the foreign name of
/// the first entry of `names` that matches. A list index after that beginning is dropped, because a
/// native list may combine several foreign keys. Without a match, `path` is returned unchanged.
[[nodiscard]] std::string foreign_key(std::span<const KeyName> names, std::string_view path);

/// Quotes text for a message: control characters escaped, cut after about 60 characters.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Makes a message safe to print: unprintable characters except line feeds become '?', and lines
/// are cut after 500 bytes.
[[nodiscard]] std::string presentable(std::string_view message);

class Diagnostics {
 public:
  /// `sources` must outlive this object.
  explicit Diagnostics(const Sources& sources) : sources_(&sources) {}

  void error(SourceRange range, const std::string& message);

  /// True once the limit is reached; further errors are only counted.
  [[nodiscard]] bool is_full() const { return entries_.size() >= kMostEntries; }

  /// Names a second range in a message: "line 12", "train.yml, line 12" for a file that the job
  /// file names, or "--set nodes=4" for a range on the command line.
  [[nodiscard]] std::string refer_to(SourceRange range) const;

  [[nodiscard]] bool empty() const { return entries_.empty(); }

  /// The number of errors so far.
  [[nodiscard]] std::size_t count() const { return entries_.size() + dropped_; }

  /// Call this if the job was translated from a file whose keys have other names; `names` must
  /// outlive this object.
  void name_keys(std::span<const KeyName> names) { key_names_ = names; }

  /// What the user calls the native key `path` at this range: the foreign name in a foreign file,
  /// the native name on the command line.
  [[nodiscard]] std::string key_at(std::string_view path, SourceRange range) const;

  /// The first 20 errors, sorted by position and separated by blank lines; exit code 65. Each is
  /// FILE:LINE:COLUMN: error: MESSAGE with the source line and a caret below, or ARGUMENT: error:
  /// MESSAGE.
  [[nodiscard]] Error to_error() const;

 private:
  static constexpr std::size_t kMostEntries = 200;

  struct Entry {
    SourceRange range;
    std::string message;
    auto operator<=>(const Entry&) const = default;
  };

  [[nodiscard]] std::string render(const Entry& entry) const;

  const Sources* sources_;
  std::span<const KeyName> key_names_;
  std::vector<Entry> entries_;
  std::size_t dropped_ = 0;
};

}  // namespace dlaunch::jobfile
