#include "os/sealed_stream.h"

#include <cstdlib>

#include <sodium.h>

#include "wire/bytes.h"

namespace dlaunch {

namespace {

constexpr std::size_t kLength = 4;

static_assert(kSealKeyBytes == crypto_secretstream_xchacha20poly1305_KEYBYTES);
static_assert(kSealHeaderBytes == crypto_secretstream_xchacha20poly1305_HEADERBYTES);
static_assert(kSealOverhead == kLength + crypto_secretstream_xchacha20poly1305_ABYTES);

unsigned char* as_bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

struct SealedSender::State {
  crypto_secretstream_xchacha20poly1305_state stream;
  ~State() { sodium_memzero(&stream, sizeof stream); }
};

SealedSender::SealedSender(const std::string& key)
    : state_(std::make_unique<State>()), header_(kSealHeaderBytes, '\0') {
  if (sodium_init() < 0) std::abort();  // without it nothing would be safe
  crypto_secretstream_xchacha20poly1305_init_push(&state_->stream, as_bytes(header_),
                                                  as_bytes(std::string_view(key)));
}
SealedSender::~SealedSender() = default;
SealedSender::SealedSender(SealedSender&&) noexcept = default;
SealedSender& SealedSender::operator=(SealedSender&&) noexcept = default;

void SealedSender::seal(std::string_view bytes, std::string& out) {
  out += header_;
  header_.clear();
  wire::append_little_endian(static_cast<std::uint32_t>(bytes.size()), out);
  const std::size_t at = out.size();
  out.resize(at + bytes.size() + kSealOverhead - kLength);
  crypto_secretstream_xchacha20poly1305_push(&state_->stream, as_bytes(out) + at, nullptr,
                                             as_bytes(bytes), bytes.size(), nullptr, 0, 0);
}

struct SealedReceiver::State {
  crypto_secretstream_xchacha20poly1305_state stream;
  ~State() { sodium_memzero(&stream, sizeof stream); }
};

SealedReceiver::SealedReceiver(const std::string& key, std::size_t most)
    : state_(std::make_unique<State>()), key_(key), most_(most) {
  if (sodium_init() < 0) std::abort();  // without it nothing would be safe
}
SealedReceiver::~SealedReceiver() = default;
SealedReceiver::SealedReceiver(SealedReceiver&&) noexcept = default;
SealedReceiver& SealedReceiver::operator=(SealedReceiver&&) noexcept = default;

SealedReceiver::Outcome SealedReceiver::next(std::string& bytes) {
  if (broken_) return Outcome::broken;
  std::string_view rest = std::string_view(waiting_).substr(begin_);
  const std::size_t header = begun_ ? 0 : kSealHeaderBytes;
  std::size_t whole = header + kLength;
  std::size_t size = 0;
  if (rest.size() >= whole) {
    size = wire::little_endian_at<std::uint32_t>(rest, header);
    broken_ = size > most_;
    if (broken_) return Outcome::broken;
    whole = header + size + kSealOverhead;
  }
  if (rest.size() < whole) {
    waiting_.erase(0, begin_);
    begin_ = 0;
    return Outcome::more;
  }
  if (!begun_) {
    begun_ = true;
    crypto_secretstream_xchacha20poly1305_init_pull(&state_->stream, as_bytes(rest),
                                                    as_bytes(std::string_view(key_)));
  }
  bytes.resize(size);
  unsigned char tag = 0;
  const std::string_view sealed = rest.substr(header + kLength, size + kSealOverhead - kLength);
  broken_ =
      crypto_secretstream_xchacha20poly1305_pull(&state_->stream, as_bytes(bytes), nullptr, &tag,
                                                 as_bytes(sealed), sealed.size(), nullptr, 0) != 0;
  begin_ += whole;
  return broken_ ? Outcome::broken : Outcome::frame;
}

}  // namespace dlaunch
