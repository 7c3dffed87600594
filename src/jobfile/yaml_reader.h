// Parses YAML text into a Document. Only yaml_reader.cc depends on yaml-cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jobfile/diagnostics.h"
#include "jobfile/document.h"
#include "jobfile/source.h"

namespace dlaunch::jobfile {

/// Reads the only document of sources[index] into `document` and returns its root; nullopt if the
/// text is not usable YAML, which `diagnostics` then reports. Errors: those of check_text(),
/// syntax, more than one document, more than 64 levels or 20,000 values, aliases that add more than
/// 10,000 nodes, an alias inside its own anchor, merge keys, tags other than !!str, curly quotes. A
/// duplicate key is reported and the first one kept. Mapping keys in the result are scalars; no
/// text contains a NUL.
[[nodiscard]] std::optional<NodeId> read_yaml(const Sources& sources, std::uint32_t index,
                                              Document& document, Diagnostics& diagnostics);

/// The error for a file with more documents than allowed.
inline constexpr const char* kSecondDocument =
    "a job file holds one YAML document, but a second one starts here";

struct YamlDocument {
  NodeId root = 0;
  SourceRange start;
};

/// The same for all non-empty documents of the text; all nodes are in `document`, and the limits
/// apply to their sum. An empty text is an error, too.
[[nodiscard]] std::optional<std::vector<YamlDocument>> read_yaml_documents(
    const Sources& sources, std::uint32_t index, Document& document, Diagnostics& diagnostics);

}  // namespace dlaunch::jobfile
