// Applies settings from the command line to the document, as if they were in the file.
#pragma once

#include <cstdint>
#include <string_view>

#include "jobfile/diagnostics.h"
#include "jobfile/document.h"
#include "jobfile/source.h"

namespace dlaunch::jobfile {

/// Sets `key` (dotted) in the mapping `root` to the text of sources[index], replacing the file's
/// value. A mapping for a section ("timeouts={stop: 5s}") replaces only the keys it names. For text
/// fields the value is taken literally unless it is quoted YAML ("#1" is not a comment, "a: b" not
/// a mapping); an empty value is an empty text.
void apply_override(const Sources& sources, std::uint32_t index, std::string_view key,
                    Document& document, NodeId root, Diagnostics& diagnostics);

}  // namespace dlaunch::jobfile
