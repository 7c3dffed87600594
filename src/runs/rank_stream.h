// RankStream reads the log file of one stream of one rank piece by piece, even while the rank is
// writing it. The file is opened for each piece, because there may be more ranks than file
// descriptors.
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

  /// Continues at the last `lines` lines of the file as it is now; without a file, at its
  /// beginning.
  [[nodiscard]] Status skip_to_last(std::uint32_t lines);
  /// Continues at the last `bytes` bytes of the file as it is now, even within a line. Returns
  /// whether it skipped any.
  [[nodiscard]] Result<bool> skip_to_last_bytes(std::uint64_t bytes);
  /// The next bytes before offset `end`, at most a few hundred KiB; empty: there are none now.
  [[nodiscard]] Result<std::string> next(std::uint64_t end = ~std::uint64_t{0});

 private:
  Rank rank_;
  Stream stream_;
  std::string path_;
  std::uint64_t offset_ = 0;
};

}  // namespace dlaunch
