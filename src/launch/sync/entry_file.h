// The content of one file of the workdir, as it was when the list was made: what has changed since
// is not read as if it had not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/sync.h"
#include "os/unique_fd.h"

namespace dlaunch {

class EntryFile {
 public:
  enum class Outcome : std::uint8_t { good, changed, failed };

  /// `samples`: the file may have grown since they were taken, and what was appended is left out;
  /// null: it has changed by that.
  Outcome open(const std::string& root, const SyncEntry& entry, const ContentHash* samples);
  /// Appends up to `size` of the bytes that follow. When the last one has come, the file is looked
  /// at once more.
  Outcome read(std::uint64_t size, std::string& bytes);

  [[nodiscard]] bool is_open() const { return fd_.valid(); }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == size_; }
  void close() { fd_.reset(); }
  /// After `failed`, else 0.
  [[nodiscard]] int error() const { return error_; }

  /// Of a file as it is now, whose size and time the entry gets: by which it is known later whether
  /// it was only appended to. A small file is hashed whole, of a larger one parts all over it.
  static std::optional<ContentHash> take_samples(const std::string& root, SyncEntry& entry);

 private:
  [[nodiscard]] Outcome check();

  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::int64_t mtime_ = 0;
  std::optional<ContentHash> samples_;
  std::uint64_t offset_ = 0;
  int error_ = 0;
};

}  // namespace dlaunch
