#include "measure/collectives/program/pattern.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "measure/collectives/half.h"

namespace dlaunch::collectives {

namespace {

// Up to this many ranks, averages scale with their number and totals stay below kValues.
constexpr unsigned kMostScaled = 31;

/// Calls function(Word()) with the unsigned integer type of that width.
template <class Function>
auto with_word(DataType type, Function function) {
  switch (size_of(type)) {
    case 1:  // NOLINT(bugprone-branch-clone): the types differ
      return function(std::uint8_t());
    case 2:
      return function(std::uint16_t());
    case 4:
      return function(std::uint32_t());
    default:
      return function(std::uint64_t());
  }
}

bool is_floating(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16 || type == DataType::float32 ||
         type == DataType::float64;
}

std::uint64_t bits_of(DataType type, double value) {
  switch (type) {
    case DataType::float16:
      return to_float16(static_cast<float>(value));
    case DataType::bfloat16:
      return to_bfloat16(static_cast<float>(value));
    case DataType::float32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DataType::float64:
      return std::bit_cast<std::uint64_t>(value);
    default:
      return static_cast<std::uint64_t>(value);
  }
}

double number_of(DataType type, std::uint64_t bits) {
  switch (type) {
    case DataType::float16:
      return from_float16(static_cast<std::uint16_t>(bits));
    case DataType::bfloat16:
      return from_bfloat16(static_cast<std::uint16_t>(bits));
    case DataType::float32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    default:
      return std::bit_cast<double>(bits);
  }
}

/// The distance from 1 to the next number.
double unit_of(DataType type) {
  switch (type) {
    case DataType::float16:
      return std::ldexp(1.0, -10);
    case DataType::bfloat16:
      return std::ldexp(1.0, -7);
    case DataType::float32:
      return std::ldexp(1.0, -23);
    default:
      return std::ldexp(1.0, -52);
  }
}

/// The finalizer of splitmix64 (Steele, Lea and Flood 2014): every bit depends on every other.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

// Fields of an element's hash.
unsigned owner(std::uint64_t hash, unsigned ranks) {
  return static_cast<unsigned>((hash & 0xfffffU) % ranks);
}
unsigned second(std::uint64_t hash, unsigned ranks) {
  return static_cast<unsigned>((hash >> 20U & 0xfffffU) % ranks);
}
unsigned small(std::uint64_t hash) {
  return static_cast<unsigned>(hash >> 40U & 3U);
}
unsigned other(std::uint64_t hash, unsigned rank) {
  return static_cast<unsigned>((hash >> 44U) + std::uint64_t{rank} * 5) % 16;
}

}  // namespace

Pattern::Pattern(DataType type, ReduceOp op, int ranks, std::uint64_t salt)
    : type_(type), op_(op), ranks_(static_cast<unsigned>(ranks)), salt_(mix(salt + 1)) {
  if (op == ReduceOp::avg && ranks_ <= kMostScaled) scale_ = ranks_;
  for (unsigned value = 0; value < kValues; ++value) {
    bits_[value] = bits_of(type, value);
    double result = value;
    if (op == ReduceOp::avg) {
      const unsigned whole = value / ranks_;
      result = is_floating(type) ? static_cast<double>(value) / ranks_ : whole;
    }
    results_[value] = bits_of(type, result);
  }
}

std::uint64_t Pattern::hash(std::uint64_t index) const {
  return mix(salt_ + index * 0x9e3779b97f4a7c15U);
}

unsigned Pattern::given(std::uint64_t hash, unsigned rank) const {
  const bool owns = rank == owner(hash, ranks_);
  const bool is_second = rank == second(hash, ranks_);
  switch (op_) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return (owns ? scale_ * (1 + small(hash)) : 0) + (is_second ? 2 : 0);
    case ReduceOp::prod:
      return (owns ? 1 + small(hash) : 1) * (is_second ? 2 : 1);
    case ReduceOp::max:
      return owns ? 16 + small(hash) : other(hash, rank);
    case ReduceOp::min:
      return owns ? small(hash) : 4 + other(hash, rank);
  }
  return 0;
}

unsigned Pattern::total(std::uint64_t hash) const {
  switch (op_) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return scale_ * (1 + small(hash)) + 2;
    case ReduceOp::prod:
      return (1 + small(hash)) * 2;
    case ReduceOp::max:
      return 16 + small(hash);
    case ReduceOp::min:
      return small(hash);
  }
  return 0;
}

void Pattern::give(char* out, int rank, std::uint64_t first, std::size_t count) const {
  with_word(type_, [&](auto word) {
    for (std::size_t i = 0; i < count; ++i) {
      word =
          static_cast<decltype(word)>(bits_[given(hash(first + i), static_cast<unsigned>(rank))]);
      std::memcpy(out + i * sizeof word, &word, sizeof word);
    }
  });
}

void Pattern::reduced(char* out, std::uint64_t first, std::size_t count) const {
  with_word(type_, [&](auto word) {
    for (std::size_t i = 0; i < count; ++i) {
      word = static_cast<decltype(word)>(results_[total(hash(first + i))]);
      std::memcpy(out + i * sizeof word, &word, sizeof word);
    }
  });
}

void Pattern::moved(char* out, int from, int to, std::uint64_t first, std::size_t count) const {
  const auto way = mix((static_cast<std::uint64_t>(from) << 32U) + static_cast<std::uint64_t>(to));
  with_word(type_, [&](auto word) {
    for (std::size_t i = 0; i < count; ++i) {
      word = static_cast<decltype(word)>(hash(way + first + i));
      std::memcpy(out + i * sizeof word, &word, sizeof word);
    }
  });
}

std::uint64_t Pattern::wrong(const char* got, const char* expected, std::size_t count,
                             bool is_reduced) const {
  const bool may_round = is_reduced && op_ == ReduceOp::avg && is_floating(type_);
  return with_word(type_, [&](auto word) {
    std::uint64_t faults = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto wanted = word;
      std::memcpy(&word, got + i * sizeof word, sizeof word);
      std::memcpy(&wanted, expected + i * sizeof word, sizeof word);
      if (word == wanted) continue;
      const double right = number_of(type_, wanted);
      const bool is_near =
          may_round && std::abs(number_of(type_, word) - right) <= 4 * unit_of(type_) * right;
      faults += is_near ? 0 : 1;
    }
    return faults;
  });
}

}  // namespace dlaunch::collectives
