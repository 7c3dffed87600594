// Two keys that do not go together, reported so that both are found.
#pragma once

#include <string>

#include "spec/diagnostics.h"
#include "spec/field_reader.h"

namespace dlaunch::spec {

struct KeyPair {
  std::string first;
  std::string second;
  std::string otherwise{};  // what the key that was not written is by default
};

/// Reports at the later of two keys and names the other. Nothing is said when neither was written,
/// or one of them has an error of its own.
void report_contradiction(const GivenKeys& given, Diagnostics& diagnostics, const KeyPair& keys,
                          std::string message);

}  // namespace dlaunch::spec
