// The content of one file of the workdir as it was when the list was made. Reading detects changes
// since then.
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

  /// `samples`: if the file has only grown since they were taken, the appended bytes are left out.
  /// Null: growth counts as a change.
  Outcome open(const std::string& root, const SyncEntry& entry, const ContentHash* samples);
  /// Appends up to `size` of the bytes that follow. After the last byte it checks once more whether
  /// the file has changed.
  Outcome read(std::uint64_t size, std::string& bytes);

  /// The next read() begins at `offset`, which lies within the file.
  void seek(std::uint64_t offset) { offset_ = offset; }

  [[nodiscard]] bool is_open() const { return fd_.valid(); }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == size_; }
  void close() { fd_.reset(); }
  /// The errno after `failed`, else 0.
  [[nodiscard]] int error() const { return error_; }

  /// Samples the file as it is now, and stores its size and time in the entry; the samples show
  /// later whether the file was only appended to. In a large file, parts throughout it are hashed.
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
