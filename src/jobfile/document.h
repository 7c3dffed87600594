// A YAML document as a tree; each node remembers its source range.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobfile/source.h"

namespace dlaunch::jobfile {

enum class NodeKind { null, scalar, sequence, mapping };

/// Index into Document::nodes. An alias has the id of the node it refers to.
using NodeId = std::uint32_t;

struct Node {
  NodeKind kind = NodeKind::null;
  bool plain = false;  // an unquoted scalar: may be a number or a boolean
  std::string text;    // scalars only
  /// An error was reported here: the node is null and needs no further error.
  bool reported = false;
  SourceRange range;          // scalars: the text; collections: the first character
  std::vector<NodeId> items;  // a sequence's items; a mapping's key, value, key, value, ...
};

struct Document {
  std::vector<Node> nodes;

  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes[id]; }
  [[nodiscard]] Node& operator[](NodeId id) { return nodes[id]; }
  NodeId add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<NodeId>(nodes.size() - 1);
  }
};

}  // namespace dlaunch::jobfile
