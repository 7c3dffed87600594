// The log file of one stream. A full disk never blocks the rank: what does not fit is dropped, and
// a line in the file says how much as soon as there is room again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/time.h"
#include "os/unique_fd.h"

namespace dlaunch {

/// Which bytes of a stream are in its file, and where. A disk that was full for a while leaves a
/// gap in the stream, and a line in the file that says so; after the gap the two offsets differ.
/// Pure.
class StoredRanges {
 public:
  struct Piece {
    std::uint64_t begin = 0;  // offset in the stream
    std::uint64_t size = 0;
    std::uint64_t in_file = 0;  // offset in the file
    bool operator==(const Piece&) const = default;
  };

  /// `size` bytes from `begin` on were written at `in_file`. Neither offset ever decreases.
  void add(std::uint64_t begin, std::uint64_t size, std::uint64_t in_file);

  /// The first piece stored at or after `offset`.
  [[nodiscard]] std::optional<Piece> from(std::uint64_t offset) const;

  /// Total of the bytes stored.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// End of the last piece in the stream; 0 if there is none.
  [[nodiscard]] std::uint64_t end() const;
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }

 private:
  std::vector<Piece> pieces_;  // more than one only after a gap
  std::uint64_t total_ = 0;
};

class OutputFile {
 public:
  /// The file is made when the first bytes come. Empty path: nothing is stored.
  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  /// Appends as many of the next bytes of the stream as fit. Returns the errno of a failure that
  /// begins a gap, else 0. In a gap, retries once a second.
  [[nodiscard]] int append(std::string_view bytes, MonotonicTime now);

  /// Moves up to `size` of the next bytes from a pipe to the file without copying (splice(2)). 0:
  /// nothing was moved; the results of read(2) and append() show why.
  [[nodiscard]] std::size_t take(int pipe, std::size_t size);

  /// Reads up to `size` bytes of what is stored at `piece`; 0: the file has lost them. After
  /// close() each call opens the file.
  [[nodiscard]] std::size_t read(const StoredRanges::Piece& piece, char* to,
                                 std::size_t size) const;

  [[nodiscard]] const StoredRanges& stored() const { return stored_; }
  /// Bytes of the stream that are not in the file.
  [[nodiscard]] std::uint64_t lost() const { return offset_ - stored_.total(); }

  /// Call at the end of the stream: marks a gap there if there is room for the line, and closes the
  /// file.
  void close();

 private:
  int open();
  int write(std::string_view bytes);
  bool mark_gap();
  [[nodiscard]] bool ends_with_newline() const;

  std::string path_;
  UniqueFd file_;
  StoredRanges stored_;
  std::uint64_t offset_ = 0;  // bytes of the stream so far
  std::uint64_t size_ = 0;    // bytes in the file
  bool may_splice_ = true;
  std::uint64_t marked_ = 0;  // offset up to which marks cover what was lost
  int error_ = 0;             // cause of the current gap; 0: none
  MonotonicTime retry_at_{};
};

}  // namespace dlaunch
