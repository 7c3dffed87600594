#include "measure/collectives/program/checked_buffers.h"

#include <algorithm>

namespace dlaunch::collectives {

namespace {

constexpr std::uint64_t kChunk = 1U << 18U;  // bytes: fits the cache
constexpr char kSpoiled = '\x5a';

void make(char* out, const Pattern& pattern, const Slice& slice, std::uint64_t from,
          std::size_t count) {
  switch (slice.kind) {
    case Slice::Kind::given:
      return pattern.give(out, slice.from, slice.first + from, count);
    case Slice::Kind::reduced:
      return pattern.reduced(out, slice.first + from, count);
    case Slice::Kind::moved:
      return pattern.moved(out, slice.from, slice.to, slice.first + from, count);
  }
}

/// Calls function(first element within the slice, number of elements) until all are done.
template <class Function>
Status in_chunks(const std::vector<Slice>& slices, DataType type, const Progress& progress,
                 Function function) {
  const std::uint64_t most = kChunk / size_of(type);
  for (const Slice& slice : slices) {
    for (std::uint64_t from = 0; from < slice.count; from += most) {
      const auto count = static_cast<std::size_t>(std::min(most, slice.count - from));
      if (Status done = function(slice, from, count); !done.ok()) return done;
      progress();
    }
  }
  return {};
}

}  // namespace

Status spoil(Memory& memory, char* buffer, std::uint64_t bytes, const Progress& progress) {
  const std::vector<char> spoiled(kChunk, kSpoiled);
  for (std::uint64_t at = 0; at < bytes; at += kChunk) {
    const auto part = static_cast<std::size_t>(std::min(kChunk, bytes - at));
    if (Status done = memory.copy_in(buffer + at, spoiled.data(), part); !done.ok()) return done;
    progress();
  }
  return {};
}

Status fill(Memory& memory, char* buffer, DataType type, const Pattern& pattern,
            const std::vector<Slice>& slices, const Progress& progress) {
  std::vector<char> made(kChunk);
  const std::size_t width = size_of(type);
  return in_chunks(slices, type, progress,
                   [&](const Slice& slice, std::uint64_t from, std::size_t count) -> Status {
                     make(made.data(), pattern, slice, from, count);
                     return memory.copy_in(buffer + (slice.at + from) * width, made.data(),
                                           count * width);
                   });
}

Result<std::uint64_t> compare(Memory& memory, const char* buffer, DataType type,
                              const Pattern& pattern, const std::vector<Slice>& slices,
                              const Progress& progress) {
  std::vector<char> expected(kChunk);
  std::vector<char> got(kChunk);
  const std::size_t width = size_of(type);
  std::uint64_t wrong = 0;
  const Status done = in_chunks(
      slices, type, progress,
      [&](const Slice& slice, std::uint64_t from, std::size_t count) -> Status {
        make(expected.data(), pattern, slice, from, count);
        Status copied =
            memory.copy_out(got.data(), buffer + (slice.at + from) * width, count * width);
        wrong +=
            pattern.wrong(got.data(), expected.data(), count, slice.kind == Slice::Kind::reduced);
        return copied;
      });
  return done.ok() ? Result<std::uint64_t>(wrong) : done;
}

}  // namespace dlaunch::collectives
