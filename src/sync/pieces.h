// The form in which blocks are sent, over a channel and over a connection between nodes: number,
// hash, size and bytes. A block of zeros has none. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::sync {

struct Piece {
  std::uint64_t block = 0;  // number in the BlockMap
  std::uint64_t hash = 0;   // block_hash() of the block, made by the launcher
  std::string_view bytes;   // read_pieces(): none for a block of zeros
  bool operator==(const Piece&) const = default;
};

/// The most bytes of pieces in one message; a single larger piece is a message of its own.
inline constexpr std::size_t kMostPieces = std::size_t{64} << 10;
inline constexpr std::size_t kPieceHeader = 20;

[[nodiscard]] bool is_zeros(std::string_view bytes);
void append_piece(const Piece& piece, std::string& out);
/// Views into `bytes`. nullopt: they are not whole pieces of at most a block each.
[[nodiscard]] std::optional<std::vector<Piece>> read_pieces(std::string_view bytes);

}  // namespace dlaunch::sync
