// Document -> YAML text.
#pragma once

#include <string>

#include "spec/document.h"

namespace dlaunch::spec {

/// The tree below `root` in block style; short lists of texts on one line. Reading it gives the
/// same tree, but for aliases, which are written out.
[[nodiscard]] std::string write_yaml(const Document& document, NodeId root);

}  // namespace dlaunch::spec
