// The YAML parser's messages in words that help somebody who does not know its grammar.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::spec {

/// Known messages of yaml-cpp 0.6 to 0.8 in plain words, others unchanged.
[[nodiscard]] std::string plain_yaml_message(std::string_view message);

/// A colon that is missing, or lacks the space behind it. A parser notices it only where the next
/// key stands.
struct ColonMistake {
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string message;
};

/// In a plain key that nothing follows, "nodes:2", at `offset`.
[[nodiscard]] std::optional<ColonMistake> colon_mistake_in_key(std::string_view key,
                                                               std::size_t offset);

/// In the line of `offset`, where a parser has given up, or in the one above it that is not empty.
[[nodiscard]] std::optional<ColonMistake> colon_mistake(std::string_view text, std::size_t offset);

}  // namespace dlaunch::spec
