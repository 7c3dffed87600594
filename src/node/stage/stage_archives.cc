#include "node/stage/stage_archives.h"

#include <algorithm>
#include <cerrno>

namespace dlaunch {

namespace {

constexpr std::size_t kMostAtOnce = 4;  // processes

}  // namespace

void StageArchives::go_on() {
  if (!is_listed_) {
    for (const std::uint32_t entry : files_.archives()) archives_.push_back({entry});
    is_listed_ = true;
  }
  for (One& one : archives_) {
    if (!problem_.empty()) return;
    const std::uint64_t arrived = files_.arrived(one.entry);
    if (!one.unpacker && arrived > 0 && under_way() < kMostAtOnce) begin(one);
    if (!one.unpacker) continue;
    if (!one.unpacker->is_over()) {
      if (files_.is_whole(one.entry)) {
        one.unpacker->is_right();
      } else {
        one.unpacker->arrived(arrived);
      }
    } else if (one.unpacker->problem().empty()) {
      files_.set_unpacked(one.entry);
    } else {
      fail(one, one.unpacker->problem());
    }
  }
}

void StageArchives::begin(One& one) {
  const StageEntry& at = files_.at(one.entry);
  const UniqueFd file = files_.open_archive(one.entry);
  if (!file) return fail(one, errno_text(errno));
  const UnpackOrder order{files_.root_of(one.entry), at.unpack, at.entry.mtime};
  auto unpacker = Unpacker::start(loop_, order, file, at.entry.size, heard_);
  if (!unpacker) return fail(one, unpacker.error().message);
  one.unpacker = std::move(*unpacker);
}

void StageArchives::fail(const One& one, const std::string& why) {
  problem_ = files_.target_of(one.entry) + ": " + why;
}

std::size_t StageArchives::under_way() const {
  return static_cast<std::size_t>(
      std::count_if(archives_.begin(), archives_.end(),
                    [](const One& one) { return one.unpacker && !one.unpacker->is_over(); }));
}

bool StageArchives::is_complete() const {
  return is_listed_ && std::all_of(archives_.begin(), archives_.end(), [](const One& one) {
           return one.unpacker && one.unpacker->is_over();
         });
}

bool StageArchives::give_up() {
  for (const One& one : archives_) {
    if (one.unpacker && !one.unpacker->is_over()) one.unpacker->give_up();
  }
  return under_way() == 0;
}

std::uint64_t StageArchives::work() const {
  std::uint64_t work = 0;
  for (const One& one : archives_) work += one.unpacker ? one.unpacker->signs() : 0;
  return work;
}

std::uint64_t StageArchives::skipped() const {
  std::uint64_t skipped = 0;
  for (const One& one : archives_)
    skipped += one.unpacker && one.unpacker->is_over() ? one.unpacker->skipped() : 0;
  return skipped;
}

}  // namespace dlaunch
