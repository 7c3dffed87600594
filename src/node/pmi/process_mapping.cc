#include "node/pmi/process_mapping.h"

#include <algorithm>
#include <cstdint>

namespace dlaunch::pmi {

namespace {

// MPICH up to 4.0 has 674 bytes for a value: a line of 1024 minus the room for names.
constexpr std::size_t kMostText = 600;

/// `nodes` nodes from `first` on have `ranks` ranks each, in the order of the ranks.
struct Block {
  std::uint32_t first = 0;
  std::uint32_t nodes = 0;
  std::uint32_t ranks = 0;
};

struct Piece {
  RankSpan span;
  std::uint32_t node = 0;
};

std::vector<Piece> in_order_of_ranks(const std::vector<std::vector<RankSpan>>& nodes) {
  std::vector<Piece> pieces;
  std::uint32_t number = 0;
  for (const std::vector<RankSpan>& spans : nodes) {
    for (const RankSpan& span : spans) pieces.push_back({span, number});
    if (!spans.empty()) ++number;
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.span.first < b.span.first; });
  return pieces;
}

}  // namespace

std::string process_mapping(const std::vector<std::vector<RankSpan>>& nodes) {
  std::vector<Block> blocks;
  for (const Piece& piece : in_order_of_ranks(nodes)) {
    Block* last = blocks.empty() ? nullptr : &blocks.back();
    if (last != nullptr && last->ranks == piece.span.count &&
        last->first + last->nodes == piece.node) {
      ++last->nodes;
    } else {
      blocks.push_back({piece.node, 1, piece.span.count});
    }
  }
  std::string text = "(vector";
  for (const Block& block : blocks) {
    text += ",(" + std::to_string(block.first) + ',' + std::to_string(block.nodes) + ',' +
            std::to_string(block.ranks) + ')';
  }
  text += ')';
  return text.size() > kMostText ? std::string() : text;
}

}  // namespace dlaunch::pmi
