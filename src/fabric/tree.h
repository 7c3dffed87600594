// Reads folders of small text files such as /sys or /proc, or copies of them. The parsing is
// strict: anything unexpected is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::fabric {

inline constexpr int kMostNuma = 65535;

/// "0x1a" or "1a": up to eight hexadecimal digits and nothing else.
[[nodiscard]] std::optional<std::uint32_t> parse_hex(std::string_view text);

/// True for 1 to 64 letters, digits and characters of "_.:@-", as in names of devices and
/// interfaces.
[[nodiscard]] bool is_device_name(std::string_view name);

/// The text if it is printable ASCII and at most `most` characters long, else empty. Every text
/// that is shown or sent passes through here.
[[nodiscard]] std::string plain_or_empty(std::string_view text, std::size_t most = 128);

/// Orders names by the numbers in them: mlx5_2 before mlx5_10.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

/// Collects what could not be parsed, to tell the user; keeps the first sixteen texts.
class Oddities {
 public:
  void add(std::string text);
  [[nodiscard]] std::vector<std::string> take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
};

/// A folder. Paths are relative to it, so the kernel resolves them from there and not from "/" each
/// time.
class Tree {
 public:
  /// If `path` does not exist, the tree is empty.
  explicit Tree(const std::string& path);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  [[nodiscard]] bool exists() const { return descriptor_ >= 0; }
  /// The file's text without white space at its ends; nullopt if it cannot be read. At most 64 KiB.
  /// Does not block: an empty FIFO is an empty file.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
  /// A file that holds one decimal number.
  [[nodiscard]] std::optional<int> read_number(const std::string& path) const;
  /// Names in the folder itself, sorted; without "." and "..".
  [[nodiscard]] std::vector<std::string> names() const;
  /// True if there is such a file or folder.
  [[nodiscard]] bool has(const std::string& path) const;
  /// Names in the folder at `path`, sorted.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  /// Target of a symbolic link; empty if there is none.
  [[nodiscard]] std::string link_target(const std::string& path) const;
  /// The last component of link_target().
  [[nodiscard]] std::string link_name(const std::string& path) const;
  /// Whether this process may read and write the file, without opening it.
  [[nodiscard]] bool usable(const std::string& path) const;

 private:
  int descriptor_;
};

/// Decimal digits and nothing else, at most `max`.
[[nodiscard]] std::optional<int> parse_number(std::string_view text, int max);

}  // namespace dlaunch::fabric
