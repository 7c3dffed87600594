// The YAML parser's messages in words that help somebody who does not know its grammar.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::spec {

/// Known messages of yaml-cpp 0.6 to 0.8 in plain words, others unchanged.
[[nodiscard]] std::string plain_yaml_message(std::string_view message);

}  // namespace dlaunch::spec
