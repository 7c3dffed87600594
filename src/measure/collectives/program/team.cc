#include "measure/collectives/program/team.h"

#include <algorithm>
#include <cstring>

namespace dlaunch::collectives {

namespace {

constexpr std::size_t kTextBytes = 128;

Status no_memory() {
  return {Code::unavailable, "no memory for the results"};
}

}  // namespace

Status Team::barrier() {
  Status done = world_.barrier();
  return done.ok() ? world_.synchronize() : done;
}

Result<std::vector<double>> Team::reduce(const std::vector<double>& mine, ReduceOp op) {
  const std::size_t bytes = mine.size() * sizeof(double);
  const Buffer buffer(memory_, bytes);
  std::vector<double> result(mine.size());
  if (bytes == 0) return result;
  if (buffer.data() == nullptr) return no_memory();
  Status done = memory_.copy_in(buffer.data(), mine.data(), bytes);
  if (done.ok())
    done = world_.all_reduce(buffer.data(), buffer.data(), mine.size(), DataType::float64, op);
  if (done.ok()) done = world_.synchronize();
  if (done.ok()) done = memory_.copy_out(result.data(), buffer.data(), bytes);
  return done.ok() ? Result<std::vector<double>>(std::move(result)) : done;
}

Result<std::vector<double>> Team::max(const std::vector<double>& mine) {
  return reduce(mine, ReduceOp::max);
}

Result<std::vector<double>> Team::sum(const std::vector<double>& mine) {
  return reduce(mine, ReduceOp::sum);
}

Result<std::vector<double>> Team::gather(const std::vector<double>& mine) {
  const std::size_t part = mine.size() * sizeof(double);
  const std::size_t ranks = static_cast<std::size_t>(world_.size());
  std::vector<double> all(mine.size() * ranks);
  if (part == 0) return all;
  const Buffer buffer(memory_, part * ranks);
  if (buffer.data() == nullptr) return no_memory();
  char* own = buffer.data() + part * static_cast<std::size_t>(world_.rank());
  Status done = memory_.copy_in(own, mine.data(), part);
  if (done.ok()) done = world_.all_gather(own, buffer.data(), part, DataType::uint8);
  if (done.ok()) done = world_.synchronize();
  if (done.ok()) done = memory_.copy_out(all.data(), buffer.data(), part * ranks);
  return done.ok() ? Result<std::vector<double>>(std::move(all)) : done;
}

Result<std::vector<std::string>> Team::gather_text(const std::string& mine) {
  std::vector<double> own(kTextBytes / sizeof(double));
  std::memcpy(own.data(), mine.data(), std::min(mine.size(), kTextBytes - 1));
  const auto all = gather(own);
  if (!all) return all.status();
  std::vector<std::string> texts;
  for (int rank = 0; rank < world_.size(); ++rank) {
    const auto* bytes =
        reinterpret_cast<const char*>(all->data()) + static_cast<std::size_t>(rank) * kTextBytes;
    texts.emplace_back(bytes, ::strnlen(bytes, kTextBytes));
  }
  return texts;
}

}  // namespace dlaunch::collectives
