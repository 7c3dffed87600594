// Which files a .gitignore excludes: the rules of gitignore(5), and git 2.39 where the page is
// silent. Case matters. Paths and patterns are bytes. Pure.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::sync {

class IgnorePattern {
 public:
  /// nullopt: a blank line, a comment, or a pattern that can never match.
  [[nodiscard]] static std::optional<IgnorePattern> parse(std::string_view line);

  /// `path`: from the folder of the .gitignore, without a slash at either end. Takes at most time
  /// proportional to the product of both lengths.
  [[nodiscard]] bool matches(std::string_view path, bool is_folder) const;
  /// "!pattern": includes again what an earlier one excluded.
  [[nodiscard]] bool negated() const { return negated_; }

 private:
  using ByteSet = std::bitset<256>;
  struct Token {
    enum class Kind : std::uint8_t {
      byte,
      any,       // ?: any byte but '/'
      set,       // [...]: never '/'
      star,      // any number of bytes but '/'
      star_all,  // any number of any bytes
      skip,      // optional: the next `value` tokens
    };
    Kind kind = Kind::byte;
    std::uint8_t value = 0;
    std::uint16_t set = 0;  // index into sets_
  };

  bool compile(std::string_view pattern);
  std::size_t compile_stars(std::string_view pattern, std::size_t at);
  std::optional<std::size_t> compile_set(std::string_view pattern, std::size_t at);
  [[nodiscard]] bool accepts(std::string_view text) const;
  [[nodiscard]] bool takes(const Token& token, char c) const;
  void enter(std::string& states, std::size_t state) const;

  bool negated_ = false;
  bool folders_only_ = false;
  bool whole_path_ = false;  // else only the last component is matched
  bool is_literal_ = false;  // then only literal_ is compared
  std::string literal_;
  std::size_t plain_prefix_ = 0;  // bytes of the pattern before the first special one
  std::vector<Token> tokens_;
  std::vector<ByteSet> sets_;
};

/// The ignore files that apply at a position in a tree, outermost first.
class IgnoreRules {
 public:
  /// The text of an ignore file in the folder `base`: "" for the top, else as "a/b/". Ignores
  /// invalid lines, as git does.
  void enter(std::string base, std::string_view text);
  /// Leaves the file that was entered last.
  void leave() { files_.pop_back(); }
  [[nodiscard]] std::size_t depth() const { return files_.size(); }

  /// `path`: relative to the top, and below the base of every file that applies. The caller must
  /// not descend into excluded folders, whose content is excluded too.
  [[nodiscard]] bool excludes(std::string_view path, bool is_folder) const;

 private:
  struct File {
    std::string base;
    std::vector<IgnorePattern> patterns;
  };
  std::vector<File> files_;
};

}  // namespace dlaunch::sync
