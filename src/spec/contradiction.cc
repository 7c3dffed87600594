#include "spec/contradiction.h"

#include <utility>

namespace dlaunch::spec {

void report_contradiction(const GivenKeys& given, Diagnostics& diagnostics, const KeyPair& keys,
                          std::string message) {
  const auto find = [&](const std::string& path) {
    const auto found = given.find(path);
    return found == given.end() ? nullptr : &found->second;
  };
  const GivenKey* a = find(keys.first);
  const GivenKey* b = find(keys.second);
  const bool has_error_of_its_own = (a != nullptr && !a->good) || (b != nullptr && !b->good);
  if (has_error_of_its_own || (a == nullptr && b == nullptr)) return;
  if (a == nullptr || b == nullptr || a == b) {
    if (!keys.otherwise.empty()) message += " (" + keys.otherwise + ")";
    diagnostics.error((a != nullptr ? a : b)->key, std::move(message));
    return;
  }
  const bool a_is_later = b->key < a->key;
  const Place other = (a_is_later ? b : a)->key;
  message += " (" + diagnostics.key_at(a_is_later ? keys.second : keys.first, other) + ", " +
             diagnostics.refer_to(other) + ")";
  diagnostics.error((a_is_later ? a : b)->key, std::move(message));
}

}  // namespace dlaunch::spec
