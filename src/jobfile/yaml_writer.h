// Document -> YAML text.
#pragma once

#include <string>

#include "jobfile/document.h"

namespace dlaunch::jobfile {

/// The tree below `root` in block style, with short lists of texts on one line. Parsing the result
/// gives the same tree, with aliases expanded.
[[nodiscard]] std::string write_yaml(const Document& document, NodeId root);

}  // namespace dlaunch::jobfile
