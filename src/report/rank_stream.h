// RankStream reads the log file of one stream of one rank piece by piece, also while the rank is
// still writing it. The file is opened for each piece: there may be more ranks than descriptors.
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "model/result.h"

namespace dlaunch {

/// One thread per object.
class RankStream {
 public:
  RankStream(const std::string& attempt_folder, Rank rank, Stream stream);

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Stream stream() const { return stream_; }
  /// The offset of the next byte.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  /// Goes on at the last `lines` lines of what is there now. No file: at its beginning.
  [[nodiscard]] Status skip_to_last(std::uint32_t lines);
  /// Goes on at the last `bytes` bytes of what is there now, wherever a line begins; whether there
  /// was anything before them.
  [[nodiscard]] Result<bool> skip_to_last_bytes(std::uint64_t bytes);
  /// The next bytes, at most some hundred KiB, none at `end` or behind it; empty: there are no more
  /// now, or the rank has written nothing.
  [[nodiscard]] Result<std::string> next(std::uint64_t end = ~std::uint64_t{0});

 private:
  Rank rank_;
  Stream stream_;
  std::string path_;
  std::uint64_t offset_ = 0;
};

}  // namespace dlaunch
