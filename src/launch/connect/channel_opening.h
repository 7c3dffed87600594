// The first bytes from a node: what its shell prints, then the marker. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch {

/// A shell may print this much before our marker; the rest is not read.
inline constexpr std::size_t kMostBanner = 64 * 1024;

class ChannelOpening {
 public:
  enum class Found : std::uint8_t {
    nothing,    // so far
    ready,      // "ready": an agent; what comes after the line is the channel, see rest()
    missing,    // "missing ARCHITECTURE"
    failed,     // "failed REASON"
    gone,       // "gone REASON": the agent to attach to has ended
    hidden,     // "hidden REASON": no trace of it was found
    unfetched,  // "unfetched REASON": no other node sent the binary; the shell still waits
    too_much,   // kMostBanner bytes without a marker
  };

  explicit ChannelOpening(std::uint64_t session);

  /// The next bytes. After anything but `nothing`, they are added to rest().
  Found feed(std::string_view bytes);
  [[nodiscard]] Found found() const { return found_; }
  /// "started" has arrived: the binary on the node was executed.
  [[nodiscard]] bool started() const { return started_; }
  /// How often the node has printed "more": parts of the binary that it has taken.
  [[nodiscard]] std::uint64_t parts_taken() const { return parts_taken_; }
  /// The text after missing, unfetched, failed, gone and hidden, without control characters; at
  /// most 1 KiB.
  [[nodiscard]] const std::string& argument() const { return argument_; }
  /// The bytes after the marker's line.
  [[nodiscard]] const std::string& rest() const { return rest_; }
  /// The last line with text before the marker: the message of a shell that ends instead of running
  /// a command. After "started", only later lines count.
  [[nodiscard]] std::string last_banner_line() const;

 private:
  void read_words(const std::string& words);

  std::string marker_;
  std::string text_;
  std::string argument_;
  std::string rest_;
  Found found_ = Found::nothing;
  bool started_ = false;
  std::uint64_t parts_taken_ = 0;
};

/// The last line of `text` with printable text, without control characters, cut at 300 bytes.
[[nodiscard]] std::string last_line(std::string_view text);

}  // namespace dlaunch
