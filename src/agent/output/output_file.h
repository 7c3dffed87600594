// The log file of one stream. A disk without room never stops its writer: what does not fit is left
// out, and a line in the file says how much, as soon as there is room again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/output/stored_ranges.h"
#include "model/time.h"
#include "os/unique_fd.h"

namespace dlaunch {

class OutputFile {
 public:
  /// The file is made when the first bytes come. An empty path: there is no place for files.
  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  /// Appends the next bytes of the stream as far as they fit. Returns the errno of a failure that
  /// begins a gap, else 0. In a gap it tries again only once a second.
  [[nodiscard]] int append(std::string_view bytes, MonotonicTime now);

  /// Moves up to `size` of the next bytes from a pipe to the file, without a copy in between
  /// (splice(2)). 0: nothing was moved, whatever the reason; read(2) and append() tell it.
  [[nodiscard]] std::size_t take(int pipe, std::size_t size);

  /// Reads up to `size` bytes of what is stored at `piece`; 0: they are not there any more. After
  /// close() the file is opened for each call.
  [[nodiscard]] std::size_t read(const StoredRanges::Piece& piece, char* to,
                                 std::size_t size) const;

  [[nodiscard]] const StoredRanges& stored() const { return stored_; }
  /// Bytes of the stream that are not in the file.
  [[nodiscard]] std::uint64_t lost() const { return offset_ - stored_.total(); }

  /// The stream is complete: marks a gap at its end, if there is room for the line, and closes.
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
  std::uint64_t marked_ = 0;  // offset up to which marks have told what was lost
  int error_ = 0;             // why there is a gap now; 0: there is none
  MonotonicTime retry_at_{};
};

}  // namespace dlaunch
