// The content of one file of the workdir, as it was when the list was made: what has changed since
// is not read as if it had not.
#pragma once

#include <cstdint>
#include <string>

#include "model/sync.h"
#include "os/unique_fd.h"

namespace dlaunch {

class EntryFile {
 public:
  enum class Outcome : std::uint8_t { good, changed, failed };

  /// `may_have_grown`: what was appended is left out; else the file has changed by it.
  Outcome open(const std::string& root, const SyncEntry& entry, bool may_have_grown);
  /// Appends up to `size` of the bytes that follow. When the last one has come, the file is looked
  /// at once more.
  Outcome read(std::uint64_t size, std::string& bytes);

  [[nodiscard]] bool is_open() const { return fd_.valid(); }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ == size_; }
  void close() { fd_.reset(); }
  /// After `failed`.
  [[nodiscard]] int error() const { return error_; }

 private:
  [[nodiscard]] Outcome check();

  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::int64_t mtime_ = 0;
  bool may_have_grown_ = false;
  std::uint64_t offset_ = 0;
  int error_ = 0;
};

}  // namespace dlaunch
