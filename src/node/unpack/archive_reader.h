// The members of an archive, read with libarchive: tar (pax, GNU, ustar), also compressed, and zip.
// A zip has its list of members at the end, so nothing can be read from it before all of it has
// arrived.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "node/unpack/arriving_file.h"

struct archive;
struct archive_entry;

namespace dlaunch {

/// What an archive says about a member; none of it may be trusted.
struct ArchiveMember {
  enum class Kind : std::uint8_t { file, folder, link, hard_link, other };
  std::string name;
  Kind kind = Kind::other;
  std::uint32_t mode = 0;  // the nine permission bits
  std::int64_t mtime = 0;  // nanoseconds since 1970
  std::uint64_t size = 0;  // files only
  std::string target{};    // of links of both kinds
};

/// For one thread. Functions return what is wrong, such as "truncated gzip input", or an empty
/// string.
class ArchiveReader {
 public:
  /// `file` must outlive this.
  explicit ArchiveReader(ArrivingFile& file);
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  [[nodiscard]] std::string open();
  /// nullopt: no more.
  [[nodiscard]] std::string next(std::optional<ArchiveMember>& member);
  struct Piece {
    std::uint64_t offset = 0;  // in the member; bytes between pieces are a hole
    std::string_view bytes;    // until the next call
  };
  /// What the latest member contains. nullopt: no more.
  [[nodiscard]] std::string next(std::optional<Piece>& piece);

 private:
  struct Callbacks;
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] std::string check_end();

  ArrivingFile& file_;
  std::string bytes_;  // that libarchive reads
  std::unique_ptr<archive, int (*)(archive*)> archive_;
  archive_entry* entry_ = nullptr;
  bool is_zip_ = false;
  bool has_members_ = false;
};

}  // namespace dlaunch
