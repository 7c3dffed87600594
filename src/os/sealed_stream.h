// Frames over a connection that strangers can see and reach: encrypted, authenticated and in order
// (libsodium, secretstream of XChaCha20 and Poly1305). One key for each direction and connection,
// used once. What was repeated, reordered or made up is noticed at the next frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dlaunch {

/// As random_secret() makes it.
inline constexpr std::size_t kSealKeyBytes = 32;
/// What the first frame begins with.
inline constexpr std::size_t kSealHeaderBytes = 24;
/// What a frame adds to its bytes.
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
  /// `most`: bytes of the largest frame.
  SealedReceiver(const std::string& key, std::size_t most);
  ~SealedReceiver();
  SealedReceiver(SealedReceiver&&) noexcept;
  SealedReceiver& operator=(SealedReceiver&&) noexcept;

  void feed(std::string_view bytes) { waiting_ += bytes; }
  enum class Outcome : std::uint8_t { more, frame, broken };
  /// `more`: the next frame is not complete. After `broken` nothing else comes.
  [[nodiscard]] Outcome next(std::string& bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string key_;
  std::size_t most_;
  std::string waiting_;
  std::size_t begin_ = 0;  // everything before it was handed out
  bool begun_ = false;
  bool broken_ = false;
};

}  // namespace dlaunch
