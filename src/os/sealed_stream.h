// Frames over a connection that strangers can see and reach: encrypted, authenticated and in order
// (libsodium, secretstream of XChaCha20 and Poly1305). Each direction of each connection has its
// own key, used once. The receiver notices at the next frame if something was repeated, reordered
// or forged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dlaunch {

/// The size of a secret from random_secret().
inline constexpr std::size_t kSealKeyBytes = 32;
/// The size of the header before the first frame.
inline constexpr std::size_t kSealHeaderBytes = 24;
/// How much longer a frame is than its content.
inline constexpr std::size_t kSealOverhead = 4 + 17;

class SealedSender {
 public:
  /// `key`: kSealKeyBytes.
  explicit SealedSender(const std::string& key);
  ~SealedSender();
  SealedSender(SealedSender&&) noexcept;
  SealedSender& operator=(SealedSender&&) noexcept;

  /// Appends a frame with these bytes.
  void seal(std::string_view bytes, std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string header_;  // until the first frame
};

class SealedReceiver {
 public:
  /// `most`: bytes of the largest frame's content.
  SealedReceiver(const std::string& key, std::size_t most);
  ~SealedReceiver();
  SealedReceiver(SealedReceiver&&) noexcept;
  SealedReceiver& operator=(SealedReceiver&&) noexcept;

  void feed(std::string_view bytes) { waiting_ += bytes; }
  enum class Outcome : std::uint8_t { more, frame, broken };
  /// `more`: the next frame is not complete. After `broken`, next() always returns `broken`.
  [[nodiscard]] Outcome next(std::string& bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string key_;
  std::size_t most_;
  std::string waiting_;
  std::size_t begin_ = 0;  // the bytes before it have been handed out
  bool begun_ = false;
  bool broken_ = false;
};

}  // namespace dlaunch
