#include "node/stage/stage_claims.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/sync/sync_record.h"
#include "os/content_hash.h"
#include "os/files.h"
#include "os/own_machine.h"
#include "os/random.h"
#include "os/write_all.h"
#include "sync/rules.h"

namespace dlaunch {

namespace {

// Bytes of a claim's file: kAlive is locked while its agent lives, kWrites while the agent writes
// to the targets.
constexpr std::int64_t kAlive = 0;
constexpr std::int64_t kWrites = 1;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;
// Agents take turns to look at the claims and make one. How often they try, and the pause in
// between.
constexpr int kTries = 50;
constexpr useconds_t kTry = 5'000;  // microseconds

/// Two paths to the same place are the same target.
std::string real_target(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(path, error);
  return sync::without_slashes(error ? path : real.string());
}

bool overlap(const std::string& one, const std::string& other) {
  return sync::lies_in(one, other) || sync::lies_in(other, one);
}

UniqueFd open_own(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return {};
  return S_ISREG(info.st_mode) && info.st_uid == ::geteuid() ? std::move(fd) : UniqueFd();
}

/// The file's texts, each with a NUL byte at its end: who claims, then the targets.
std::vector<std::string> texts_in(const UniqueFd& fd) {
  std::string text;
  char bytes[4096];
  ssize_t n = 0;
  while (text.size() < kMostBytes &&
         (n = ::pread(fd.get(), bytes, sizeof bytes, static_cast<off_t>(text.size()))) > 0)
    text.append(bytes, static_cast<std::size_t>(n));
  std::vector<std::string> texts;
  for (std::size_t at = 0, end = 0; (end = text.find('\0', at)) != std::string::npos; at = end + 1)
    texts.push_back(text.substr(at, end - at));
  return texts;
}

}  // namespace

StageClaims::StageClaims(const Environment& env) {
  const std::string cache = cache_folder_of(env);
  if (cache.empty()) return;
  folder_ = cache + "/claims";
  ContentHasher hasher;
  hasher.add(own_hostname());
  prefix_ = hex_text(hasher.hash()) + '-';
}

std::optional<StageClaims::Other> StageClaims::claim(const std::string& by,
                                                     const std::vector<std::string>& targets) {
  if (is_use_ && own_ && by == by_) {
    used_.emplace_back(path_, std::move(own_));
    is_use_ = false;
  } else if (by == by_) {
    give_up();
  } else {
    release();
  }
  if (folder_.empty() || targets.empty()) return std::nullopt;
  const std::string cache = folder_.substr(0, folder_.rfind('/'));
  ::mkdir(cache.substr(0, cache.rfind('/')).c_str(), 0700);
  ::mkdir(cache.c_str(), 0700);
  if (!open_private_folder(folder_, true)) return std::nullopt;
  const UniqueFd turn(::open((folder_ + '/' + prefix_ + "turn").c_str(),
                             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!turn || look_at_byte_lock(turn.get(), kAlive) == LockSeen::unknown) return std::nullopt;
  for (int i = 0; !set_byte_lock(turn.get(), kAlive, true); ++i) {
    if (errno != EAGAIN && errno != EACCES) return std::nullopt;
    if (i == kTries) return Other{"another process", targets.front()};
    ::usleep(kTry);
  }
  std::string text = by + '\0';
  std::vector<std::string> wanted;
  for (const std::string& target : targets) {
    wanted.push_back(real_target(target));
    text += wanted.back() + '\0';
  }
  by_ = by;
  for (const Claim& claim : others(true)) {
    if (claim.is_use || claim.by == by) continue;
    for (const std::string& target : claim.targets) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (overlap(target, wanted[i])) return Other{claim.by, targets[i]};
      }
    }
  }
  std::string path = random_name(folder_ + '/' + prefix_);
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || write_all(fd.get(), text) != 0 || !set_byte_lock(fd.get(), kAlive, true) ||
      !set_byte_lock(fd.get(), kWrites, true)) {
    if (fd) ::unlink(path.c_str());
    return std::nullopt;
  }
  own_ = std::move(fd);
  path_ = std::move(path);
  is_use_ = false;
  return std::nullopt;
}

void StageClaims::use() {
  if (own_) set_byte_lock(own_.get(), kWrites, false);
  is_use_ = true;
}

void StageClaims::give_up() {
  if (is_use_) return;
  if (own_) ::unlink(path_.c_str());
  own_.reset();
}

void StageClaims::release() {
  is_use_ = false;
  give_up();
  for (const auto& [path, lock] : used_) ::unlink(path.c_str());
  used_.clear();
}

std::vector<std::string> StageClaims::users_of(const std::string& target) const {
  std::vector<std::string> users;
  const std::string real = real_target(target);
  for (const Claim& claim : others(false)) {
    if (!claim.is_use || claim.by == by_) continue;
    const bool is_used = std::any_of(claim.targets.begin(), claim.targets.end(),
                                     [&](const auto& one) { return overlap(one, real); });
    if (is_used) users.push_back(claim.by);
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

/// `clears`: removes the files of dead agents. Only the holder of the turn may do so, because a
/// file that is being made has no lock yet.
std::vector<StageClaims::Claim> StageClaims::others(bool clears) const {
  std::vector<Claim> claims;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(
      folder_.empty() ? nullptr : ::opendir(folder_.c_str()), &::closedir);
  while (const dirent* const entry = list ? ::readdir(list.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    const std::string path = folder_ + '/' + entry->d_name;
    if (!name.starts_with(prefix_) || name.ends_with("turn") || path == path_) continue;
    const UniqueFd fd = open_own(path);
    if (!fd) continue;
    if (look_at_byte_lock(fd.get(), kAlive) == LockSeen::free) {
      if (clears) ::unlink(path.c_str());
      continue;
    }
    std::vector<std::string> texts = texts_in(fd);
    if (texts.empty()) continue;
    Claim claim{texts.front(), {texts.begin() + 1, texts.end()}, false};
    claim.is_use = look_at_byte_lock(fd.get(), kWrites) == LockSeen::free;
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace dlaunch
