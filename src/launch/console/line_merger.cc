#include "launch/console/line_merger.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace dlaunch {

namespace {

constexpr std::size_t kBits = 64;
constexpr std::size_t kBuckets = 4096;
constexpr std::size_t kFirstRing = 512;
// Longer texts free their memory once their line has been shown.
constexpr std::size_t kKeptText = 512;
// At most this many lines are compared: if many are alike, some equal lines may not be merged, but
// merging stays fast.
constexpr std::size_t kMostCompared = 16;
constexpr std::size_t kValueBytes = sizeof(std::string);

std::size_t index_of(Stream stream) {
  return stream == Stream::out ? 0 : 1;
}

bool has(const std::uint64_t* words, Rank rank) {
  return (words[rank.value / kBits] >> (rank.value % kBits) & 1U) != 0;
}

void put(std::uint64_t* words, Rank rank) {
  words[rank.value / kBits] |= std::uint64_t{1} << (rank.value % kBits);
}

/// Two lanes of eight bytes: most lines are hashed as fast as they are copied.
std::uint64_t hash_of(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio
  std::array<std::uint64_t, 2> lanes{text.size(), kOdd};
  std::array<std::uint64_t, 2> block{};
  const auto mix = [&] {
    for (std::size_t i = 0; i < 2; ++i) {
      lanes[i] = (lanes[i] ^ block[i]) * kOdd;
      lanes[i] ^= lanes[i] >> 32U;
    }
  };
  for (; text.size() >= sizeof block; text.remove_prefix(sizeof block)) {
    std::memcpy(block.data(), text.data(), sizeof block);
    mix();
  }
  block = {};
  if (!text.empty()) std::memcpy(block.data(), text.data(), text.size());
  mix();
  const std::uint64_t both = (lanes[0] ^ (lanes[1] << 1U)) * kOdd;
  return both ^ (both >> 29U);
}

}  // namespace

LineMerger::LineMerger(const std::vector<bool>& shown, bool fold_numbers)
    : fold_numbers_(fold_numbers),
      words_((shown.size() + kBits - 1) / kBits),
      ring_(kFirstRing),
      ranks_(kFirstRing * words_),
      folds_(fold_numbers ? kFirstRing : 0),
      buckets_(kBuckets),
      behind_(2 * shown.size()) {
  std::vector<std::uint64_t> all(words_);
  for (std::uint32_t rank = 0; rank < shown.size(); ++rank) {
    if (shown[rank]) put(all.data(), Rank(rank));
  }
  const auto count = static_cast<std::size_t>(std::count(shown.begin(), shown.end(), true));
  open_ = {all, all};
  open_count_ = {count, count};
}

void LineMerger::add(Rank rank, Stream stream, std::string_view text, bool continues,
                     MonotonicTime now) {
  assert(2 * std::size_t{rank.value} < behind_.size());
  const Kind kind{fold_numbers_ ? hash_without_numbers(text) : hash_of(text), stream, continues};
  Position& behind = behind_[2 * std::size_t{rank.value} + index_of(stream)];
  Position position = find(text, kind, behind);
  if (position == kNone) {
    position = append(text, kind, now);
  } else if (fold_numbers_) {
    NumberFold& fold = fold_of(position);
    const std::size_t before = fold.values();
    fold.join(at(position).text, text);
    bytes_ += kValueBytes * (fold.values() - before);
  }
  behind = position + 1;
  put(words_of(position), rank);
  ++at(position).count;
  if (is_complete(position))
    settled_[index_of(stream)] = std::max(settled_[index_of(stream)], position + 1);
}

bool LineMerger::is_of(const Held& held, const Kind& kind) {
  return held.hash == kind.hash && held.stream == kind.stream && held.continues == kind.continues;
}

LineMerger::Position LineMerger::find(std::string_view text, const Kind& kind,
                                      Position from) const {
  const auto equal = [&](const Held& held) { return is_of(held, kind) && held.text == text; };
  // If ranks print the same lines, a rank's line is usually equal to the next held one.
  const Position oldest = std::max(from, front_);
  if (oldest < end_ && equal(at(oldest))) return oldest;
  const Held* const last = from > front_ ? &at(from - 1) : nullptr;
  Position position =
      last != nullptr && is_of(*last, kind) ? last->next : buckets_[kind.hash % kBuckets].first;
  Position alike = kNone;
  for (std::size_t i = 0; i < kMostCompared && position != kNone; ++i) {
    const Held& held = at(position);
    if (position >= oldest && equal(held)) return position;
    if (alike == kNone && fold_numbers_ && position >= oldest && is_of(held, kind) &&
        fold_of(position).fits(held.text, text))
      alike = position;
    position = held.next;
  }
  return alike;
}

LineMerger::Position LineMerger::append(std::string_view text, const Kind& kind,
                                        MonotonicTime now) {
  if (end_ - front_ + RecentLines::kMost >= ring_.size()) grow();
  const Position position = end_++;
  Held& line = at(position);
  line.text.assign(text);
  line.hash = kind.hash;
  line.next = kNone;
  line.since = now;
  line.count = 0;
  line.stream = kind.stream;
  line.continues = kind.continues;
  if (fold_numbers_) fold_of(position) = {};
  std::fill_n(words_of(position), words_, 0);
  bytes_ += text.size();
  Bucket& chain = buckets_[kind.hash % kBuckets];
  if (chain.first == kNone) {
    chain.first = position;
  } else {
    at(chain.last).next = position;
  }
  chain.last = position;
  return position;
}

void LineMerger::grow() {
  std::vector<Held> ring(2 * ring_.size());
  std::vector<std::uint64_t> ranks(2 * ranks_.size());
  std::vector<NumberFold> folds(2 * folds_.size());
  const Position known = end_ - std::min<Position>(end_, ring_.size());
  for (Position position = known; position < end_; ++position) {
    const std::size_t slot = position & (ring.size() - 1);
    std::copy_n(words_of(position), words_, &ranks[slot * words_]);
    ring[slot] = std::move(at(position));
    if (fold_numbers_) folds[slot] = std::move(fold_of(position));
  }
  ring_ = std::move(ring);
  ranks_ = std::move(ranks);
  folds_ = std::move(folds);
}

bool LineMerger::is_complete(Position position) const {
  const std::size_t stream = index_of(at(position).stream);
  if (at(position).count < open_count_[stream]) return false;
  const std::uint64_t* const words = words_of(position);
  for (std::size_t i = 0; i < words_; ++i) {
    if ((open_[stream][i] & ~words[i]) != 0) return false;
  }
  return true;
}

void LineMerger::end(Rank rank, Stream stream) {
  const std::size_t index = index_of(stream);
  if (!has(open_[index].data(), rank)) return;
  open_[index][rank.value / kBits] &= ~(std::uint64_t{1} << (rank.value % kBits));
  --open_count_[index];
  for (Position position = end_; position > std::max(front_, settled_[index]); --position) {
    if (at(position - 1).stream != stream || !is_complete(position - 1)) continue;
    settled_[index] = position;
    return;
  }
}

std::optional<LineMerger::Line> LineMerger::next(MonotonicTime now) {
  if (front_ == end_) return std::nullopt;
  Held& line = at(front_);
  const bool is_settled = front_ < settled_[index_of(line.stream)] || now - line.since >= kWait;
  if (!is_settled && end_ - front_ <= most_lines_ && bytes_ <= kMostBytes) return std::nullopt;
  if (is_settled || line.count > 1) {
    most_lines_ = kMostLines;
  } else if (most_lines_ > kFewLines) {
    --most_lines_;
  }
  Bucket& chain = buckets_[line.hash % kBuckets];
  chain.first = line.next;
  bytes_ -= line.text.size();
  Line taken{line.stream, line.continues, line.text, Words(words_of(front_), words_), line.count};
  if (line.text.size() > kKeptText) {
    taken_ = std::exchange(line.text, {});
    taken.text = taken_;
  }
  if (fold_numbers_ && fold_of(front_).values() > 0) {
    bytes_ -= kValueBytes * fold_of(front_).values();
    taken_ = fold_of(front_).text(taken.text);
    taken.text = taken_;
  }
  ++front_;
  return taken;
}

std::optional<MonotonicTime> LineMerger::due() const {
  if (front_ == end_) return std::nullopt;
  return at(front_).since + kWait;
}

std::size_t LineMerger::recent(Rank rank, Stream stream, std::size_t window, bool of_both) const {
  const Position oldest = front_ - std::min<Position>(front_, RecentLines::kMost);
  std::size_t found = 0;
  for (Position position = front_; position > oldest && window > 0; --position) {
    const Held& line = at(position - 1);
    if (line.stream != stream && !of_both) continue;
    --window;
    if (line.stream == stream && has(words_of(position - 1), rank)) ++found;
  }
  return found;
}

}  // namespace dlaunch
