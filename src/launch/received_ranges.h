// ReceivedRanges: which bytes of a stream are settled, in whatever order and however often they
// came. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace dlaunch {

class ReceivedRanges {
 public:
  struct Gap {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // behind the last byte
    bool operator==(const Gap&) const = default;
  };

  /// Bytes from `begin` up to `end`; an empty or reversed range changes nothing.
  void add(std::uint64_t begin, std::uint64_t end);

  /// The first stretch below `end` that is not settled.
  [[nodiscard]] std::optional<Gap> first_gap(std::uint64_t end) const;

  [[nodiscard]] std::size_t pieces() const { return ranges_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin -> end; they do not touch each other
};

}  // namespace dlaunch
