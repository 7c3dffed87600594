// StoredRanges: which bytes of a stream are in its file, and where. A disk that was full for a
// while leaves a gap in the stream, and a line in the file that says so; behind both the two
// offsets differ. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dlaunch {

class StoredRanges {
 public:
  struct Piece {
    std::uint64_t begin = 0;  // offset in the stream
    std::uint64_t size = 0;
    std::uint64_t in_file = 0;  // offset in the file
    bool operator==(const Piece&) const = default;
  };

  /// `size` bytes from `begin` on were written at `in_file`. Both offsets grow from call to call.
  void add(std::uint64_t begin, std::uint64_t size, std::uint64_t in_file);

  /// What is stored at or behind `offset`, the first of it.
  [[nodiscard]] std::optional<Piece> from(std::uint64_t offset) const;

  /// Bytes stored in all.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// End of the last piece in the stream; 0 when there is none.
  [[nodiscard]] std::uint64_t end() const;
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }

 private:
  std::vector<Piece> pieces_;  // more than one only after a gap
  std::uint64_t total_ = 0;
};

}  // namespace dlaunch
