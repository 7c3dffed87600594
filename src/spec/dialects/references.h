// References such as "$(NAME)" in the command and the variables of a container.
#pragma once

#include <string>
#include <vector>

#include "spec/dialects/dialect.h"

namespace dlaunch::spec {

struct EnvVariable {
  std::string name;
  std::string value;
  Place place;
};

/// A variable that the system adds to a container, behind those of the file, so that it wins.
struct AddedVariable {
  std::string name;
  std::string value;
  bool is_shell = false;  // `value` is shell text, such as ${RANK}: known when the rank starts
};

/// The word of a command with its references replaced; PlacedText::shell is set where a value is
/// known only when the rank starts. What nothing defines stays as it is, with a note.
[[nodiscard]] PlacedText with_references(Translation& translation, const PlacedText& word,
                                         const std::vector<EnvVariable>& env,
                                         const std::vector<AddedVariable>& added);

/// The value of a variable; it may refer only to `before`, the variables in front of it.
[[nodiscard]] std::string value_with_references(Translation& translation, const PlacedText& value,
                                                const std::vector<EnvVariable>& before);

}  // namespace dlaunch::spec
