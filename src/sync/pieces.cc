#include "sync/pieces.h"

#include <cstring>

#include "sync/blocks.h"
#include "wire/bytes.h"

namespace dlaunch::sync {

bool is_zeros(std::string_view bytes) {
  // Each byte equals the next one, which memcmp compares faster than a loop.
  return bytes.empty() ||
         (bytes[0] == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

void append_piece(const Piece& piece, std::string& out) {
  const std::string_view bytes = is_zeros(piece.bytes) ? std::string_view() : piece.bytes;
  wire::append_little_endian(piece.block, out);
  wire::append_little_endian(piece.hash, out);
  wire::append_little_endian(static_cast<std::uint32_t>(bytes.size()), out);
  out += bytes;
}

std::optional<std::vector<Piece>> read_pieces(std::string_view bytes) {
  std::vector<Piece> pieces;
  while (!bytes.empty()) {
    if (bytes.size() < kPieceHeader) return std::nullopt;
    Piece piece{wire::little_endian_at<std::uint64_t>(bytes, 0),
                wire::little_endian_at<std::uint64_t>(bytes, 8),
                {}};
    const auto size = wire::little_endian_at<std::uint32_t>(bytes, 16);
    bytes.remove_prefix(kPieceHeader);
    if (size > kBlockBytes || size > bytes.size()) return std::nullopt;
    piece.bytes = bytes.substr(0, size);
    bytes.remove_prefix(size);
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace dlaunch::sync
