// What both ends of a staging know about archives that are unpacked on the nodes: how an archive
// begins, what its members may be called, and the record of what was unpacked. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::sync {

/// Archives that can be unpacked, for errors.
inline constexpr const char* kArchives =
    "tar (also compressed with gzip, xz, zstd or bzip2) and zip";

/// Whether a file with this beginning may be such an archive: a compressed file may contain
/// something else. `beginning`: the file's first kArchiveBeginning bytes, or all of them.
inline constexpr std::size_t kArchiveBeginning = 512;
[[nodiscard]] bool is_archive(std::string_view beginning);
[[nodiscard]] bool is_zip(std::string_view beginning);

/// Names beside the folder `name` that an archive is unpacked into: the archive itself, the folder
/// in which it is unpacked, and the record of what has been unpacked.
[[nodiscard]] std::string archive_beside(std::string_view name);
[[nodiscard]] std::string unpacking_beside(std::string_view name);
[[nodiscard]] std::string record_beside(std::string_view name);
inline constexpr std::size_t kMostUnpackName = 230;  // bytes, so that these names are possible

/// The path of a member below the folder, "." for the folder itself. nullopt: it leads elsewhere,
/// or is not a path.
[[nodiscard]] std::optional<std::string> member_path(std::string_view name);

/// A folder that a staging has unpacked. All members but the first two show whether it is still the
/// same folder, because inode numbers are reused.
struct Unpacked {
  std::uint64_t size = 0;  // of the archive
  std::int64_t mtime = 0;  // likewise, nanoseconds since 1970
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born = 0;  // nanoseconds since 1970; 0: the file system does not say
  [[nodiscard]] bool is_same_folder(const Unpacked& other) const {
    // After a reboot the device may have another number.
    return inode == other.inode && born == other.born && (born != 0 || device == other.device);
  }
  bool operator==(const Unpacked&) const = default;
};
[[nodiscard]] std::string record_text(const std::vector<Unpacked>& record);
/// Leaves out lines that are damaged.
[[nodiscard]] std::vector<Unpacked> read_record(std::string_view text);

}  // namespace dlaunch::sync
