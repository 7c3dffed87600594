// What the ranks of one attempt tell each other by PMI-1: keys and values that a rank puts, and
// that all can get after the next barrier. One on each node; barriers bring them to the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::pmi {

/// What is the same for all ranks.
struct Job {
  std::string name;          // of the key space; at most 255 bytes, no blank
  std::uint32_t size = 0;    // ranks
  std::string mapping;       // process_mapping(); empty: none
  std::size_t most_put = 0;  // bytes that one node may have put since the last barrier
};

/// A value.
class KeySpace {
 public:
  KeySpace() = default;
  explicit KeySpace(Job job) : job_(std::move(job)) {}

  [[nodiscard]] const Job& job() const { return job_; }

  /// Replaces an earlier value. Why not, for the one who asked (a word, as PMI-1 has it); nullptr:
  /// it is there. Neither may hold a NUL or an end of line.
  [[nodiscard]] const char* put(std::string_view key, std::string_view value);
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;

  /// What ranks here have put since the last call, for the other nodes.
  [[nodiscard]] std::string take_puts();
  /// What nodes have put, this one perhaps too. False: it is no such list, or too much; what could
  /// be read has been taken.
  [[nodiscard]] bool add_puts(std::string_view bytes);

 private:
  [[nodiscard]] bool store(std::string_view key, std::string_view value);

  Job job_;
  std::map<std::string, std::string, std::less<>> values_;
  std::size_t held_ = 0;  // bytes of values_
  std::string puts_;      // "key NUL value NL" each
};

/// Limits that clients are told; Hydra has the same, but for the values.
inline constexpr std::size_t kMostName = 256;
inline constexpr std::size_t kMostKey = 64;
/// With what goes before it, it fits into a line of 1024 bytes, which is what clients have room
/// for.
inline constexpr std::size_t kMostValue = 960;

}  // namespace dlaunch::pmi
