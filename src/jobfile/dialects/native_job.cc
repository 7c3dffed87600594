#include "jobfile/dialects/native_job.h"

#include <utility>

namespace dlaunch::jobfile {

NativeJob::NativeJob(Document& document) : document_(document), root_(document.add_mapping({})) {}

void NativeJob::node(const Path& path, NodeId value, SourceRange at) {
  NodeId mapping = root_;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool is_last = i + 1 == path.size();
    const auto old = document_.find(mapping, path[i]);
    const NodeId next = is_last ? value : old ? old->value : document_.add_mapping(at);
    const NodeId key = old ? old->key : document_.add_text(std::string(path[i]), at);
    document_.put(mapping, key, next);
    mapping = next;
  }
}

void NativeJob::text(const Path& path, std::string value, SourceRange at) {
  node(path, document_.add_text(std::move(value), at), at);
}

void NativeJob::plain(const Path& path, std::string value, SourceRange at) {
  const NodeId id = document_.add_text(std::move(value), at);
  document_[id].plain = true;
  node(path, id, at);
}

void NativeJob::texts(const Path& path, const std::vector<LocatedText>& values, SourceRange at) {
  if (values.empty()) return;
  Node list{.kind = NodeKind::sequence, .range = at};
  for (const LocatedText& value : values)
    list.items.push_back(document_.add_text(value.text, value.range));
  node(path, document_.add(std::move(list)), at);
}

bool NativeJob::has(const Path& path) const {
  NodeId mapping = root_;
  for (const std::string_view key : path) {
    const auto entry = document_.find(mapping, key);
    if (!entry) return false;
    mapping = entry->value;
  }
  return true;
}

}  // namespace dlaunch::jobfile
