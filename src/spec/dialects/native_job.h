// The native job file that a foreign one is translated into, as a document whose values stand where
// the foreign ones do: so the ordinary reader finds what is wrong, and says the foreign line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "spec/document.h"

namespace dlaunch::spec {

/// A text and where it stood.
struct PlacedText {
  std::string text;
  Place place;
  /// If the word of a command has variables of its rank: the word as shell text. Else empty.
  std::string shell{};
};

class NativeJob {
 public:
  /// A path of keys: {"roles", "worker", "env", "A.B"}.
  using Path = std::vector<std::string_view>;

  /// Adds nodes to `document`, which must outlive this object.
  explicit NativeJob(Document& document);

  // Each of them replaces what was there.
  void text(const Path& path, std::string value, Place at);
  void number(const Path& path, std::int64_t value, Place at);
  void boolean(const Path& path, bool value, Place at);
  /// No list without items: whoever has none has reported it.
  void texts(const Path& path, const std::vector<PlacedText>& values, Place at);
  /// As the node stands in the document.
  void node(const Path& path, NodeId value, Place at);

  [[nodiscard]] bool has(const Path& path) const;

  /// The whole, a mapping.
  [[nodiscard]] NodeId root() const { return root_; }

 private:
  NodeId scalar(std::string value, bool plain, Place at);

  Document& document_;
  NodeId root_;
};

}  // namespace dlaunch::spec
