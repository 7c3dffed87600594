#include "jobfile/dialects/native_job.h"

#include <utility>

namespace dlaunch::jobfile {

namespace {

/// Index of the value in Node::items; 0: absent.
std::size_t find_value(const Document& document, NodeId mapping, std::string_view key) {
  const std::vector<NodeId>& items = document[mapping].items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (document[items[i]].text == key) return i + 1;
  }
  return 0;
}

}  // namespace

NativeJob::NativeJob(Document& document) : document_(document), root_(0) {
  Node mapping;
  mapping.kind = NodeKind::mapping;
  root_ = document_.add(std::move(mapping));
}

NodeId NativeJob::scalar(std::string value, bool plain, SourceRange at) {
  Node node;
  node.kind = NodeKind::scalar;
  node.plain = plain;
  node.text = std::move(value);
  node.range = at;
  return document_.add(std::move(node));
}

void NativeJob::node(const Path& path, NodeId value, SourceRange at) {
  NodeId mapping = root_;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool is_last = i + 1 == path.size();
    if (const std::size_t found = find_value(document_, mapping, path[i]); found != 0) {
      if (is_last) document_[mapping].items[found] = value;
      mapping = document_[mapping].items[found];
      continue;
    }
    const NodeId key = scalar(std::string(path[i]), false, at);
    NodeId next = value;
    if (!is_last) {
      Node section;
      section.kind = NodeKind::mapping;
      section.range = at;
      next = document_.add(std::move(section));
    }
    document_[mapping].items.insert(document_[mapping].items.end(), {key, next});
    mapping = next;
  }
}

void NativeJob::text(const Path& path, std::string value, SourceRange at) {
  node(path, scalar(std::move(value), false, at), at);
}

void NativeJob::number(const Path& path, std::int64_t value, SourceRange at) {
  node(path, scalar(std::to_string(value), true, at), at);
}

void NativeJob::boolean(const Path& path, bool value, SourceRange at) {
  node(path, scalar(value ? "true" : "false", true, at), at);
}

void NativeJob::texts(const Path& path, const std::vector<LocatedText>& values, SourceRange at) {
  if (values.empty()) return;
  Node list;
  list.kind = NodeKind::sequence;
  list.range = at;
  for (const LocatedText& value : values)
    list.items.push_back(scalar(value.text, false, value.range));
  node(path, document_.add(std::move(list)), at);
}

bool NativeJob::has(const Path& path) const {
  NodeId mapping = root_;
  for (const std::string_view key : path) {
    const std::size_t found = find_value(document_, mapping, key);
    if (found == 0) return false;
    mapping = document_[mapping].items[found];
  }
  return true;
}

}  // namespace dlaunch::jobfile
