// The key-value space of PMI-1: what a rank puts, all ranks can get after the next barrier. Each
// node has one; barriers bring them to the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::pmi {

/// What all ranks of the attempt share.
struct Job {
  std::string name;          // of the key-value space; at most 255 bytes, no blank
  std::uint32_t size = 0;    // ranks
  std::string mapping;       // process_mapping(); empty: none
  std::size_t most_put = 0;  // limit of the bytes that a node puts between two barriers
};

class KeySpace {
 public:
  KeySpace() = default;
  explicit KeySpace(Job job) : job_(std::move(job)) {}

  [[nodiscard]] const Job& job() const { return job_; }

  /// Replaces an earlier value. Returns nullptr, or the reason for a refusal as one word, as PMI-1
  /// needs it. Neither text may contain NUL or a newline.
  [[nodiscard]] const char* put(std::string_view key, std::string_view value);
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;

  /// Returns what ranks of this node have put since the last call, for the other nodes.
  [[nodiscard]] std::string take_puts();
  /// Adds what nodes have put, perhaps including this one. False: malformed, or too much; the
  /// entries before the fault are added.
  [[nodiscard]] bool add_puts(std::string_view bytes);

 private:
  [[nodiscard]] bool store(std::string_view key, std::string_view value);

  Job job_;
  std::map<std::string, std::string, std::less<>> values_;
  std::size_t held_ = 0;  // bytes of values_
  std::string puts_;      // "key NUL value NL" each
};

/// Limits that clients are told; Hydra's are the same, except for kMostValue.
inline constexpr std::size_t kMostName = 256;
inline constexpr std::size_t kMostKey = 64;
/// The whole line must fit into the 1024 bytes of a client's buffer.
inline constexpr std::size_t kMostValue = 960;

}  // namespace dlaunch::pmi
