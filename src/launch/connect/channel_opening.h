// The first bytes that come from a node: whatever its shell prints, then the marker. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch {

/// A shell may say so much before our own words; more is not read.
inline constexpr std::size_t kMostBanner = 64 * 1024;

class ChannelOpening {
 public:
  enum class Found : std::uint8_t {
    nothing,   // so far
    ready,     // "ready": an agent; what comes after the line is the channel, see rest()
    missing,   // "missing ARCHITECTURE"
    staged,    // "staged"
    failed,    // "failed REASON"
    gone,      // "gone REASON": of the agent that was to be attached to
    hidden,    // "hidden REASON": of one of which there is no trace
    too_much,  // kMostBanner bytes without a marker
  };

  explicit ChannelOpening(std::uint64_t session);

  /// The next bytes. After anything but `nothing`, they are added to rest().
  Found feed(std::string_view bytes);
  [[nodiscard]] Found found() const { return found_; }
  /// "started" has come: the binary on the node was executed.
  [[nodiscard]] bool started() const { return started_; }
  /// Of missing, failed, gone and hidden, cleaned of control characters; at most 1 KiB.
  [[nodiscard]] const std::string& argument() const { return argument_; }
  /// The bytes behind the marker's line.
  [[nodiscard]] const std::string& rest() const { return rest_; }
  /// The last line with text that came before a marker, or while there was none: what a shell
  /// says when it ends instead of running a command. Of what came after "started", once it has.
  [[nodiscard]] std::string last_banner_line() const;

 private:
  void read_words(const std::string& words);

  std::string marker_;
  std::string text_;
  std::string argument_;
  std::string rest_;
  Found found_ = Found::nothing;
  bool started_ = false;
};

/// The last line of `text` that says something, without control characters, cut at 300 bytes.
[[nodiscard]] std::string last_line(std::string_view text);

}  // namespace dlaunch
