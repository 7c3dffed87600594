// Adds up the lines of a host list: each host once, in order of its first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/job_spec.h"

namespace dlaunch::spec {

inline constexpr std::int64_t kMostSlots = 100'000;  // of a host, as in the field table

class HostTally {
 public:
  struct Count {
    HostSpec host;            // slots 0 until finish()
    std::int64_t slots = 0;   // of lines that give a number
    std::int64_t bare = 0;    // lines that give none
    bool has_number = false;  // a line gave a number, be it 0
    std::size_t last_line = 0;
    std::size_t first_line = 0;
  };

  /// The count of the host of that name; a new one if there is none. The reference holds until the
  /// next call. `line` counts up.
  Count& at(const std::string& name, std::size_t line) {
    const auto [found, is_new] = index_.try_emplace(name, counts_.size());
    if (is_new) {
      counts_.emplace_back();
      counts_.back().host.name = name;
      counts_.back().first_line = line;
      counts_.back().last_line = line;
    }
    return counts_[found->second];
  }

  [[nodiscard]] const Count* find(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &counts_[found->second];
  }

  [[nodiscard]] std::vector<Count>& counts() { return counts_; }
  [[nodiscard]] std::size_t size() const { return counts_.size(); }

 private:
  std::vector<Count> counts_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace dlaunch::spec
