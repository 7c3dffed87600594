#include "os/strong_hash.h"

#include <cstdlib>

#include <sodium.h>

namespace dlaunch {

struct StrongHasher::State {
  crypto_generichash_state hash;
};

StrongHasher::StrongHasher() : state_(std::make_unique<State>()) {
  if (sodium_init() < 0) std::abort();  // without it nothing would be safe
  crypto_generichash_init(&state_->hash, nullptr, 0, sizeof(StrongHash));
}
StrongHasher::~StrongHasher() = default;
StrongHasher::StrongHasher(StrongHasher&&) noexcept = default;
StrongHasher& StrongHasher::operator=(StrongHasher&&) noexcept = default;

void StrongHasher::add(std::string_view bytes) {
  crypto_generichash_update(&state_->hash, reinterpret_cast<const unsigned char*>(bytes.data()),
                            bytes.size());
}

StrongHash StrongHasher::hash() {
  StrongHash hash{};
  crypto_generichash_final(&state_->hash, reinterpret_cast<unsigned char*>(hash.data()),
                           sizeof hash);
  return hash;
}

}  // namespace dlaunch
