// A folder of small text files such as /sys or /proc, or a copy of one. Paths are relative to the
// folder, so that the kernel resolves them from there and not from "/" each time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::fabric {

class Tree {
 public:
  /// `path` need not exist; then the tree is empty.
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
  /// Names in a folder below; sorted.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  /// Target of a symbolic link; empty if there is none.
  [[nodiscard]] std::string link_target(const std::string& path) const;
  /// The last component of that target.
  [[nodiscard]] std::string link_name(const std::string& path) const;
  /// Whether this process may read and write the file, without opening it.
  [[nodiscard]] bool usable(const std::string& path) const;

 private:
  int descriptor_;
};

/// Decimal digits and nothing else, at most `max`.
[[nodiscard]] std::optional<int> parse_number(std::string_view text, int max);

}  // namespace dlaunch::fabric
