// The format of local.times and remote.times (docs/reference/run-folder.md), which record how much
// of each output stream had been written at what time. Pure; one thread per object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlaunch {

/// `stream` is 2 * rank, plus 1 for stderr. The bytes between the previous mark of the stream and
/// `end` had arrived by `at`.
struct OutputMark {
  std::uint64_t stream = 0;
  std::uint64_t end = 0;
  std::int64_t at = 0;  // milliseconds since 1970-01-01 UTC
  bool operator==(const OutputMark&) const = default;
};

/// About 4 bytes per mark. Marks of one stream in the same millisecond are merged.
class OutputTimesWriter {
 public:
  void add(const OutputMark& mark);
  /// The bytes since the last call, to be appended to the file.
  [[nodiscard]] std::string take();

 private:
  void write(const OutputMark& mark);

  std::string bytes_;
  std::optional<OutputMark> last_;   // not written yet
  std::vector<std::uint64_t> ends_;  // as written, by stream
  std::int64_t at_ = 0;              // as written
  bool has_begun_ = false;
};

/// Reads a file that may still be growing, or truncated.
class OutputTimesReader {
 public:
  explicit OutputTimesReader(std::string bytes);
  /// The next mark; nullopt: the end, or invalid bytes.
  [[nodiscard]] std::optional<OutputMark> next();

 private:
  [[nodiscard]] std::optional<std::uint64_t> number();

  std::string bytes_;
  std::size_t position_ = 0;
  std::vector<std::uint64_t> ends_;
  std::int64_t at_ = 0;
};

}  // namespace dlaunch
