// The native job file that a foreign one is translated into, as a document whose values keep their
// foreign source ranges: the ordinary reader then finds errors and reports the foreign lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/document.h"

namespace dlaunch::jobfile {

/// A text and its source range.
struct LocatedText {
  std::string text;
  SourceRange range;
  /// Set if a word of a command contains variables of its rank: the word as shell text.
  std::string shell{};
};

class NativeJob {
 public:
  /// A path of keys: {"roles", "worker", "env", "A.B"}.
  using Path = std::vector<std::string_view>;

  /// Adds nodes to `document`, which must outlive this object.
  explicit NativeJob(Document& document);

  // Each of these replaces an existing value.
  void text(const Path& path, std::string value, SourceRange at);
  void number(const Path& path, std::int64_t value, SourceRange at) {
    plain(path, std::to_string(value), at);
  }
  void boolean(const Path& path, bool value, SourceRange at) {
    plain(path, value ? "true" : "false", at);
  }
  /// Ignores an empty list, which the caller has reported.
  void texts(const Path& path, const std::vector<LocatedText>& values, SourceRange at);
  /// Sets the node unchanged.
  void node(const Path& path, NodeId value, SourceRange at);

  [[nodiscard]] bool has(const Path& path) const;

  /// The whole job, a mapping.
  [[nodiscard]] NodeId root() const { return root_; }

 private:
  void plain(const Path& path, std::string value, SourceRange at);

  Document& document_;
  NodeId root_;
};

}  // namespace dlaunch::jobfile
