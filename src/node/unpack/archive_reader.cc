#include "node/unpack/archive_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include <archive.h>
#include <archive_entry.h>
#include <langinfo.h>
#include <sys/stat.h>

#include "model/result.h"
#include "sync/rules.h"
#include "sync/unpack_rules.h"

/// Names in zip and pax archives are UTF-8, and file names here are bytes. libarchive would convert
/// the names to the locale's character set, which can only be ASCII in a static program; this
/// function says UTF-8, so libarchive leaves them as they are. Nothing else in dlaunch calls it.
extern "C" char* nl_langinfo(nl_item item) {
  static char charset[] = "UTF-8";
  static char nothing[] = "";
  return item == CODESET ? charset : nothing;
}

namespace dlaunch {

namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;
constexpr std::size_t kTarBlock = 512;
constexpr mode_t kPermissions = 0777;

ArchiveMember::Kind kind_of(archive_entry* entry) {
  using Kind = ArchiveMember::Kind;
  if (::archive_entry_hardlink(entry) != nullptr) return Kind::hard_link;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return Kind::file;
    case AE_IFDIR:
      return Kind::folder;
    case AE_IFLNK:
      return Kind::link;
    default:
      return Kind::other;
  }
}

}  // namespace

/// Functions that libarchive calls; `self` is the reader.
struct ArchiveReader::Callbacks {
  static la_ssize_t read(archive* archive, void* self, const void** bytes) {
    auto& reader = *static_cast<ArchiveReader*>(self);
    const int error = reader.file_.read(kPiece, reader.bytes_);
    if (error != 0) {
      ::archive_set_error(archive, error, "%s", errno_text(error).c_str());
      return ARCHIVE_FATAL;
    }
    *bytes = reader.bytes_.data();
    return static_cast<la_ssize_t>(reader.bytes_.size());
  }

  static la_int64_t seek(archive*, void* self, la_int64_t offset, int whence) {
    ArrivingFile& file = static_cast<ArchiveReader*>(self)->file_;
    const auto size = static_cast<la_int64_t>(file.size());
    if (whence == SEEK_CUR) offset += static_cast<la_int64_t>(file.position());
    if (whence == SEEK_END) offset += size;
    offset = std::clamp<la_int64_t>(offset, 0, size);
    file.seek(static_cast<std::uint64_t>(offset));
    return offset;
  }
};

ArchiveReader::ArchiveReader(ArrivingFile& file)
    : file_(file), archive_(::archive_read_new(), &::archive_read_free) {}

ArchiveReader::~ArchiveReader() = default;

std::string ArchiveReader::open() {
  archive* const a = archive_.get();
  if (a == nullptr) return errno_text(ENOMEM);
  std::string beginning;
  if (const int error = file_.read(sync::kArchiveBeginning, beginning); error != 0)
    return errno_text(error);
  file_.seek(0);
  is_zip_ = sync::is_zip(beginning);
  // The beginning decides, because libarchive would look for the end of a zip in every file.
  if (is_zip_) {
    ::archive_read_support_format_zip_seekable(a);
    ::archive_read_set_seek_callback(a, &Callbacks::seek);
  } else {
    ::archive_read_support_filter_gzip(a);
    ::archive_read_support_filter_xz(a);
    ::archive_read_support_filter_zstd(a);
    ::archive_read_support_filter_bzip2(a);
    ::archive_read_support_format_tar(a);
  }
  ::archive_read_set_read_callback(a, &Callbacks::read);
  ::archive_read_set_callback_data(a, this);
  return ::archive_read_open1(a) == ARCHIVE_OK ? std::string() : problem();
}

std::string ArchiveReader::problem() const {
  const char* const text = ::archive_error_string(archive_.get());
  std::string problem = text != nullptr ? text : "it is damaged";
  if (!has_members_) problem += std::string("; archives that can be unpacked: ") + sync::kArchives;
  return problem;
}

/// A warning (ARCHIVE_WARN) is about data that this class does not use: owners, other times.
std::string ArchiveReader::next(std::optional<ArchiveMember>& member) {
  member.reset();
  const int result = ::archive_read_next_header(archive_.get(), &entry_);
  if (result == ARCHIVE_EOF) return check_end();
  if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return problem();
  has_members_ = true;
  const char* const name = ::archive_entry_pathname(entry_);
  if (name == nullptr) return "the name of a member is not UTF-8";
  member.emplace();
  member->name = name;
  member->kind = kind_of(entry_);
  member->mode = ::archive_entry_perm(entry_) & kPermissions;
  member->mtime =
      sync::nanoseconds(::archive_entry_mtime(entry_), ::archive_entry_mtime_nsec(entry_));
  member->size = static_cast<std::uint64_t>(std::max<la_int64_t>(::archive_entry_size(entry_), 0));
  const char* const target = member->kind == ArchiveMember::Kind::hard_link
                                 ? ::archive_entry_hardlink(entry_)
                                 : ::archive_entry_symlink(entry_);
  if (target != nullptr) member->target = target;
  return "";
}

/// A tar ends with blocks of zeros, but libarchive accepts a tar that was cut between two members
/// as complete. If the tar is compressed, the end of the compressed data is missing too.
std::string ArchiveReader::check_end() {
  const bool is_plain = ::archive_filter_code(archive_.get(), 0) == ARCHIVE_FILTER_NONE;
  if (is_zip_ || !is_plain) return "";
  std::string end;
  file_.seek(file_.size() - std::min<std::uint64_t>(file_.size(), kTarBlock));
  if (const int error = file_.read(kTarBlock, end); error != 0) return errno_text(error);
  return end.find_first_not_of('\0') == std::string::npos ? "" : "it is truncated";
}

std::string ArchiveReader::next(std::optional<Piece>& piece) {
  piece.reset();
  const void* bytes = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  const int result = ::archive_read_data_block(archive_.get(), &bytes, &size, &offset);
  if (result == ARCHIVE_EOF) return "";
  if (result != ARCHIVE_OK || offset < 0) return problem();
  piece = Piece{static_cast<std::uint64_t>(offset),
                std::string_view(static_cast<const char*>(bytes), size)};
  return "";
}

}  // namespace dlaunch
