// A YAML document as a tree that remembers where everything stood.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spec/source.h"

namespace dlaunch::spec {

enum class NodeKind { null, scalar, sequence, mapping };

/// Index into Document::nodes. Aliases share the node that they stand for.
using NodeId = std::uint32_t;

struct Node {
  NodeKind kind = NodeKind::null;
  bool plain = false;  // a scalar without quotes: may be a number or a boolean
  std::string text;    // of a scalar
  /// What stood here is a mistake that was reported: the node is null, and nothing more is due.
  bool reported = false;
  Place place;                // of a scalar its text; of a collection its first character
  std::vector<NodeId> items;  // of a sequence; of a mapping key, value, key, value, ..
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

}  // namespace dlaunch::spec
