// Adds up the slots that the lines of a host list give each host; hosts keep the order of their
// first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/job_spec.h"

namespace dlaunch::jobfile {

inline constexpr std::int64_t kMostSlots = 100'000;  // per host, as in the field table

class HostTally {
 public:
  struct Count {
    HostSpec host;            // slots is 0 until finish()
    std::int64_t slots = 0;   // from lines that give a number
    std::int64_t bare = 0;    // number of lines without a number
    bool has_number = false;  // some line gave a number, possibly 0
    std::size_t last_line = 0;
    std::size_t first_line = 0;
  };

  /// The entry of the host of that name, created if necessary. The reference is valid until the
  /// next call. `line` must increase.
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

}  // namespace dlaunch::jobfile
