#include "node/pmi/key_space.h"

#include <utility>

namespace dlaunch::pmi {

namespace {

// Far more than a job needs, so that a rank cannot exhaust the agent's memory.
constexpr std::size_t kMostHeld = std::size_t{64} << 20;
// Cost of an entry in addition to its key and value.
constexpr std::size_t kEntry = 128;

}  // namespace

bool KeySpace::store(std::string_view key, std::string_view value) {
  const auto found = values_.find(key);
  const std::size_t before = found == values_.end() ? 0 : found->second.size();
  const std::size_t more = found == values_.end() ? kEntry + key.size() : 0;
  if (held_ - before + more + value.size() > kMostHeld) return false;
  held_ += more + value.size() - before;
  if (found == values_.end()) {
    values_.emplace(key, value);
  } else {
    found->second = value;
  }
  return true;
}

const char* KeySpace::put(std::string_view key, std::string_view value) {
  if (key.empty()) return "no_key";
  if (key.starts_with("PMI_")) return "reserved_key";
  if (key.size() >= kMostKey) return "key_too_long";
  if (value.size() >= kMostValue) return "value_too_long";
  if (puts_.size() + key.size() + value.size() + 2 > job_.most_put)
    return "too_much_before_barrier";
  if (!store(key, value)) return "key_space_full";
  puts_.append(key).append(1, '\0').append(value).append(1, '\n');
  return nullptr;
}

std::optional<std::string> KeySpace::get(std::string_view key) const {
  if (key == "PMI_process_mapping" && !job_.mapping.empty()) return job_.mapping;
  if (key == "universeSize") return std::to_string(job_.size);  // Hydra's name
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::string KeySpace::take_puts() {
  return std::exchange(puts_, {});
}

bool KeySpace::add_puts(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view entry = bytes.substr(0, end);
    const std::size_t middle = entry.find('\0');
    if (end == std::string_view::npos || middle == 0 || middle == std::string_view::npos)
      return false;
    if (!store(entry.substr(0, middle), entry.substr(middle + 1))) return false;
    bytes.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace dlaunch::pmi
