// A YAML document as a tree; each node remembers its source range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobfile/source.h"

namespace dlaunch::jobfile {

enum class NodeKind { null, scalar, sequence, mapping };

/// Index into Document::nodes. An alias has the id of the node it refers to.
using NodeId = std::uint32_t;

struct Node {
  NodeKind kind = NodeKind::null;
  bool plain = false;  // an unquoted scalar: may be a number or a boolean
  std::string text{};  // scalars only
  /// An error was reported here. The node is null and causes no further error.
  bool reported = false;
  SourceRange range{};          // scalars: the text; collections: the first character
  std::vector<NodeId> items{};  // a sequence's items; a mapping's key, value, key, value, ...
};

struct Document {
  std::vector<Node> nodes;

  struct Entry {
    NodeId key;
    NodeId value;
  };

  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes[id]; }
  [[nodiscard]] Node& operator[](NodeId id) { return nodes[id]; }
  NodeId add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<NodeId>(nodes.size() - 1);
  }
  NodeId add_mapping(SourceRange range) { return add({.kind = NodeKind::mapping, .range = range}); }
  /// A text scalar, even if it looks like a number or a boolean.
  NodeId add_text(std::string text, SourceRange range) {
    return add({.kind = NodeKind::scalar, .text = std::move(text), .range = range});
  }

  /// The entries of a mapping; none for another kind of node.
  [[nodiscard]] std::vector<Entry> entries(NodeId mapping) const {
    std::vector<Entry> entries;
    if (nodes[mapping].kind != NodeKind::mapping) return entries;
    const std::vector<NodeId>& items = nodes[mapping].items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      entries.push_back({items[i], items[i + 1]});
    return entries;
  }
  /// The first entry with that key.
  [[nodiscard]] std::optional<Entry> find(NodeId mapping, std::string_view key) const {
    for (const Entry& entry : entries(mapping))
      if (nodes[entry.key].text == key) return entry;
    return std::nullopt;
  }
  /// Replaces the first entry with the same key, or adds one.
  void put(NodeId mapping, NodeId key, NodeId value) {
    std::vector<NodeId>& items = nodes[mapping].items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (nodes[items[i]].text != nodes[key].text) continue;
      items[i] = key;
      items[i + 1] = value;
      return;
    }
    items.insert(items.end(), {key, value});
  }
  /// Removes the first entry with that key. Its nodes stay, because aliases may refer to them.
  void erase(NodeId mapping, std::string_view key) {
    if (nodes[mapping].kind != NodeKind::mapping) return;
    std::vector<NodeId>& items = nodes[mapping].items;
    for (auto at = items.begin(); at != items.end(); at += 2) {
      if (nodes[*at].text != key) continue;
      items.erase(at, at + 2);
      return;
    }
  }
};

}  // namespace dlaunch::jobfile
