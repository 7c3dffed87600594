#include "node/sync/sync_record.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/content_hash.h"
#include "os/own_machine.h"
#include "os/random.h"
#include "os/unique_fd.h"
#include "os/write_all.h"
#include "sync/rules.h"
#include "wire/codec.h"
#include "wire/framer.h"

namespace dlaunch {

namespace {

constexpr std::size_t kChunk = 1000;  // entries in a frame
constexpr off_t kMostBytes = off_t{256} << 20;
constexpr std::size_t kMostRecords = 10'000;
constexpr const char* kFolder = "/sync";

/// Identifies the node and the folder: nodes may share the home folder with the records and each
/// have a workdir of their own at the same path.
std::string node_text(const std::string& root) {
  struct stat info {};
  if (::stat(root.c_str(), &info) != 0) info = {};
  return own_hostname() + ' ' + std::to_string(info.st_dev) + ' ' + std::to_string(info.st_ino);
}

std::optional<std::string> read_own_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return std::nullopt;
  const bool is_ours = S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
  if (!is_ours || info.st_size > kMostBytes) return std::nullopt;
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::read(fd.get(), text.data() + done, text.size() - done);
    if (n <= 0) return std::nullopt;
    done += static_cast<std::size_t>(n);
  }
  return text;
}

std::optional<wire::SyncBegin> begin_of(wire::FrameReader& reader) {
  const auto frame = reader.next();
  if (!frame || !*frame) return std::nullopt;
  const auto message = wire::decode<wire::ToAgent>(**frame);
  const auto* begin = message ? std::get_if<wire::SyncBegin>(&*message) : nullptr;
  return begin != nullptr ? std::optional(*begin) : std::nullopt;
}

/// A record is a SyncBegin, a StagedSeen (of stagings) and SyncEntries, encoded as for sending.
std::optional<SyncEntries> entries_of(const std::string& text, const wire::SyncBegin& expected,
                                      std::optional<StagedTarget>* about) {
  wire::FrameReader reader;
  reader.feed(text);
  if (begin_of(reader) != expected) return std::nullopt;
  SyncEntries entries;
  while (true) {
    const auto frame = reader.next();
    if (!frame || !*frame) return std::nullopt;
    const auto message = wire::decode<wire::ToAgent>(**frame);
    if (!message) {  // StagedSeen, or a message of another version, which is skipped
      const auto said = wire::decode<wire::FromAgent>(**frame);
      const auto* seen = said ? std::get_if<wire::StagedSeen>(&*said) : nullptr;
      if (about != nullptr && seen != nullptr && seen->targets.size() == 1)
        *about = seen->targets.front();
      continue;
    }
    const auto* chunk = std::get_if<wire::SyncEntries>(&*message);
    if (chunk == nullptr) return std::nullopt;
    for (const SyncEntry& entry : chunk->entries) {
      if (sync::is_safe_path(entry.path)) entries.emplace(entry.path, entry);
    }
    if (chunk->last) return entries;
  }
}

}  // namespace

SyncRecord::SyncRecord(const Environment& env, const std::string& root, const std::string& origin)
    : root_(root), origin_(origin), node_(node_text(root)) {
  const std::string cache = cache_folder_of(env);
  if (cache.empty()) return;
  ContentHasher hasher;
  for (const std::string& part : {root, origin, node_}) {
    hasher.add(part);
    hasher.add(std::string_view("\0", 1));
  }
  folder_ = cache + kFolder;
  path_ = folder_ + '/' + hex_text(hasher.hash());
}

SyncEntries SyncRecord::load(std::optional<StagedTarget>* about) const {
  if (path_.empty()) return {};
  const auto text = read_own_file(path_);
  if (!text) return {};
  return entries_of(*text, {0, root_, node_, origin_}, about).value_or(SyncEntries());
}

void SyncRecord::save(const SyncEntries& entries, const std::optional<StagedTarget>& about) const {
  if (path_.empty()) return;
  std::string text;
  wire::append_frame(wire::encode(wire::SyncBegin{0, root_, node_, origin_}), text);
  if (about) wire::append_frame(wire::encode(wire::StagedSeen{{*about}, {}}), text);
  wire::SyncEntries chunk;
  for (const auto& [path, entry] : entries) {
    chunk.entries.push_back(entry);
    if (chunk.entries.size() < kChunk) continue;
    wire::append_frame(wire::encode(chunk), text);
    chunk.entries.clear();
  }
  chunk.last = true;
  wire::append_frame(wire::encode(chunk), text);
  const std::string dlaunch = folder_.substr(0, folder_.rfind('/'));
  for (const std::string& folder : {dlaunch.substr(0, dlaunch.rfind('/')), dlaunch, folder_})
    ::mkdir(folder.c_str(), 0700);
  const std::string part = random_name(path_ + '.');
  const UniqueFd fd(
      ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return;
  if (write_all(fd.get(), text) != 0 || ::rename(part.c_str(), path_.c_str()) != 0)
    ::unlink(part.c_str());
}

void SyncRecord::remove() const {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void for_each_record(const Environment& env, const std::function<void(const FoundRecord&)>& each) {
  const std::string cache = cache_folder_of(env);
  if (cache.empty()) return;
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir((cache + kFolder).c_str()),
                                                   &::closedir);
  while (const dirent* const entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (names.size() < kMostRecords) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const std::string path = cache + kFolder + '/' + name;
    const auto text = read_own_file(path);
    if (!text) continue;
    wire::FrameReader reader;
    reader.feed(*text);
    const auto begin = begin_of(reader);
    // A record of another node, or of a folder that was replaced since, has another name.
    if (begin && begin->root.starts_with('/') &&
        SyncRecord(env, begin->root, begin->origin).path() == path)
      each({begin->root, begin->origin});
  }
}

std::string cache_folder_of(const Environment& env) {
  for (const auto& [name, below] :
       {std::pair("XDG_CACHE_HOME", ""), std::pair("HOME", "/.cache")}) {
    const auto value = find_variable(env, name);
    if (value && value->starts_with('/')) return *value + below + "/dlaunch";
  }
  return {};
}

}  // namespace dlaunch
