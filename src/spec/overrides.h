// Settings from the command line, put into the document as if they had stood in the file.
#pragma once

#include <cstdint>
#include <string_view>

#include "spec/diagnostics.h"
#include "spec/document.h"
#include "spec/source.h"

namespace dlaunch::spec {

/// Sets `key` (dotted) to the text of sources[index] in the mapping `root`; what the file says
/// there is not read any more. A mapping given for a section ("timeouts={stop: 5s}") replaces only
/// the keys that it names. Where a text is wanted, it is taken as it stands unless it is quoted
/// YAML ("#1" is no comment, and "a: b" no mapping); an empty value is an empty text.
void apply_override(const Sources& sources, std::uint32_t index, std::string_view key,
                    Document& document, NodeId root, Diagnostics& diagnostics);

}  // namespace dlaunch::spec
