// YAML text -> Document. The only file that knows yaml-cpp is yaml_reader.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/document.h"
#include "spec/source.h"

namespace dlaunch::spec {

/// Reads the one document of sources[index] into `document` and returns its root; nullopt when the
/// text is no usable YAML, which is then said in `diagnostics`. Errors: what check_text() finds,
/// syntax, more than one document, more than 64 levels or 20,000 values, aliases that add more than
/// 10,000 nodes, an alias inside its own anchor, merge keys, tags other than !!str, curly quotes
/// for quotes. A duplicate key is reported, the first one kept. Mapping keys of the result are
/// scalars; no text holds a NUL.
[[nodiscard]] std::optional<NodeId> read_yaml(const Sources& sources, std::uint32_t index,
                                              Document& document, Diagnostics& diagnostics);

/// Where a file holds more documents than it may.
inline constexpr const char* kSecondDocument =
    "a job file holds one YAML document, here a second one starts";

struct YamlDocument {
  NodeId root = 0;
  Place start;
};

/// Likewise all documents of the text that hold anything; their nodes are all in `document`, and
/// the limits are for all of them together. An empty text is an error, too.
[[nodiscard]] std::optional<std::vector<YamlDocument>> read_yaml_documents(
    const Sources& sources, std::uint32_t index, Document& document, Diagnostics& diagnostics);

}  // namespace dlaunch::spec
