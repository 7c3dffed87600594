#include "launch/output/output_collector.h"

#include <algorithm>

#include "model/rank_list.h"
#include "model/result.h"

namespace dlaunch {

namespace {

// Outstanding requests to one node: 2 MiB, enough for 100 MB/s over 20 ms.
constexpr std::size_t kWindow = 16;
// PyTorch writes a message and a traceback; a larger file is cut to this size.
constexpr std::uint64_t kMostOfErrorFile = std::uint64_t{1} << 20;

wire::OutputPart part_of(Stream stream) {
  return stream == Stream::out ? wire::OutputPart::out : wire::OutputPart::err;
}

const char* ending_of(wire::OutputPart part) {
  switch (part) {
    case wire::OutputPart::out:
      return "out";
    case wire::OutputPart::err:
      return "err";
    case wire::OutputPart::error_file:
      break;
  }
  return "error.json";
}

}  // namespace

void OutputCollector::begin(const LaunchPlan& plan, std::string folder) {
  attempt_ = plan.attempt;
  folder_ = std::move(folder);
  remotes_.clear();
  waits_for_ = {};
  streams_.clear();
  node_of_rank_.clear();
  files_.close_all();
  write_error_.clear();
  for (const RankPlan& rank : plan.ranks) {
    const NodePlan& node = plan.nodes[rank.node.value];
    node_of_rank_.push_back(node.id);
    if (!node.is_remote) continue;
    Remote& remote = remotes_[node.id];
    remote.name = node.name;
    remote.folder = node.output_folder;
  }
}

void OutputCollector::expect(Key key) {
  if (key.first.value >= node_of_rank_.size() || is_expected(key)) return;
  const auto remote = remotes_.find(node_of_rank_[key.first.value]);
  if (remote == remotes_.end()) return;
  remote->second.keys.push_back(key);
  waits_for_ = std::min(waits_for_, remote->first);
}

void OutputCollector::rank_started(Rank rank) {
  expect({rank, Part::out});
  expect({rank, Part::err});
}

bool OutputCollector::is_expected(Key key) const {
  if (key.first.value >= node_of_rank_.size()) return false;
  const auto remote = remotes_.find(node_of_rank_[key.first.value]);
  if (remote == remotes_.end()) return false;
  const std::vector<Key>& keys = remote->second.keys;
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

OutputCollector::Stream* OutputCollector::find(NodeId node, Key key) {
  const auto found = streams_.find(key);
  if (found == streams_.end() && !is_expected(key)) return nullptr;
  return node_of_rank_[key.first.value] == node ? &streams_[key] : nullptr;
}

const OutputCollector::Stream& OutputCollector::known(Key key) const {
  static const Stream kNothing;
  const auto found = streams_.find(key);
  return found != streams_.end() ? found->second : kNothing;
}

std::string OutputCollector::path_of(Key key) const {
  return folder_ + "/rank-" + std::to_string(key.first.value) + '.' + ending_of(key.second);
}

bool OutputCollector::write(Key key, Stream& stream, std::string_view bytes) {
  const std::string path = path_of(key);
  const int error = files_.write(path, stream.file_size, bytes);
  if (error != 0) {
    if (write_error_.empty()) write_error_ = "cannot write " + path + ": " + errno_text(error);
    return false;
  }
  stream.file_size += bytes.size();
  stream.ends_line = bytes.empty() ? stream.ends_line : bytes.back() == '\n';
  return true;
}

bool OutputCollector::append(Key key, Stream& stream, std::uint64_t offset,
                             std::string_view bytes) {
  const std::uint64_t known = stream.have - offset;
  if (known >= bytes.size()) return true;
  bytes.remove_prefix(static_cast<std::size_t>(known));
  if (!write(key, stream, bytes)) return false;
  stream.have += bytes.size();
  return true;
}

/// The node no longer has these bytes. A line in the file says so, as on one machine.
void OutputCollector::lose(Key key, Stream& stream, std::uint64_t up_to) {
  if (up_to <= stream.have) return;
  const std::uint64_t count = up_to - stream.have;
  stream.gone += count;
  stream.have = up_to;
  if (key.second == Part::error_file) return;
  const std::string& where = remotes_[node_of_rank_[key.first.value]].name;
  (void)write(key, stream,
              std::string(stream.ends_line ? "" : "\n") + "[... " + std::to_string(count) +
                  " bytes lost on " + where + "]\n");
}

void OutputCollector::add(NodeId node, const wire::OutputData& data) {
  if (data.attempt != attempt_) return;
  const Key key{data.rank, part_of(data.stream)};
  Stream* stream = find(node, key);
  if (stream == nullptr || stream->done) return;
  stream->available = std::max(stream->available, data.offset + data.bytes.size());
  if (stream->stalled) return;
  if (data.offset > stream->have) return fetch_more(node);  // earlier bytes come first
  // After a write has failed (full disk), later pieces are not tried: there may be room again when
  // the rest is fetched.
  stream->stalled = !append(key, *stream, data.offset, data.bytes);
}

void OutputCollector::end(NodeId node, const wire::OutputEnd& end) {
  if (end.attempt != attempt_) return;
  Stream* stream = find(node, {end.rank, part_of(end.stream)});
  if (stream == nullptr || stream->end) return;
  stream->end = end.size;
  stream->lost = end.lost;
  if (!remotes_[node].empty) return;
  stream->fetching = true;
  fetch_more(node);
}

void OutputCollector::rank_failed(Rank rank) {
  expect({rank, Part::error_file});
}

void OutputCollector::node_empty(NodeId node, Attempt attempt) {
  const auto found = remotes_.find(node);
  if (attempt != attempt_ || found == remotes_.end()) return;
  found->second.empty = true;
  for (const Key& key : found->second.keys) {
    Stream& stream = streams_[key];
    stream.fetching |= stream.end.has_value() || key.second == Part::error_file;
  }
  fetch_more(node);
}

void OutputCollector::fetch_rest() {
  for (auto& [node, remote] : remotes_) {
    if (!remote.empty) node_lost(node);
    for (const Key& key : remote.keys) streams_[key].fetching = true;
    fetch_more(node);
  }
}

void OutputCollector::fetch_more(NodeId node) {
  Remote& remote = remotes_[node];
  if (remote.lost || remote.forgotten) return;
  for (const Key& key : remote.keys) {
    Stream& stream = streams_[key];
    while (remote.requests.size() < kWindow && ask_next(node, remote, key, stream)) {
    }
  }
  forget_if_collected(node, remote);
}

/// The offset up to which bytes can be fetched now.
std::uint64_t OutputCollector::ask_limit(Key key, const Stream& stream) {
  if (!stream.fetching) return stream.stalled ? 0 : stream.available;
  if (key.second == Part::error_file)
    return std::min(stream.end.value_or(kMostOfErrorFile), kMostOfErrorFile);
  // While the end is unknown, one request at a time.
  return stream.end.value_or(stream.have + wire::kMostFetched);
}

/// False: nothing of the stream can be fetched now.
bool OutputCollector::ask_next(NodeId node, Remote& remote, Key key, Stream& stream) {
  if (stream.done) return false;
  if (stream.asked == 0) stream.ask_from = stream.have;
  const std::uint64_t limit = ask_limit(key, stream);
  if (stream.ask_from >= limit) {
    if (stream.fetching && stream.asked == 0) finish(stream, stream.gone > stream.lost);
    return false;
  }
  if (stream.fetching && !stream.end && stream.asked > 0) return false;
  const auto size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(wire::kMostFetched, limit - stream.ask_from));
  send_(node, wire::FetchOutput{attempt_, key.first, key.second, stream.ask_from, size});
  remote.requests.push_back({key, stream.ask_from, size});
  stream.ask_from += size;
  ++stream.asked;
  return true;
}

void OutputCollector::fetched(NodeId node, const wire::FetchedOutput& data) {
  const auto found = remotes_.find(node);
  if (data.attempt != attempt_ || found == remotes_.end()) return;
  Remote& remote = found->second;
  const Key key{data.rank, data.part};
  if (remote.requests.empty() || remote.requests.front().key != key) return;
  const Request request = remote.requests.front();
  remote.requests.pop_front();
  Stream& stream = streams_[key];
  --stream.asked;
  fetched_ += data.bytes.size() + 1;  // an empty answer is progress too
  if (!stream.done) settle(key, stream, request, data);
  fetch_more(node);
}

/// The answer to the first request always settles something or ends the stream, so that the
/// requests come to an end.
void OutputCollector::settle(Key key, Stream& stream, const Request& request,
                             const wire::FetchedOutput& data) {
  const std::uint64_t size = data.bytes.size();
  if (data.offset < request.offset || size > request.size) return finish(stream, true);
  if (request.offset > stream.have) return;  // the previous answer was short: requested again
  if (size == 0) {                           // the file has nothing from this offset on
    if (stream.fetching && !stream.end) stream.end = std::max(data.offset, stream.have);
    return lose(key, stream, stream.fetching ? *stream.end : data.offset);
  }
  lose(key, stream, data.offset);
  if (append(key, stream, data.offset, data.bytes)) return;
  stream.stalled = true;
  if (stream.fetching) finish(stream, true);
}

void OutputCollector::finish(Stream& stream, bool incomplete) {
  stream.done = true;
  stream.incomplete = incomplete;
}

void OutputCollector::forget_if_collected(NodeId node, Remote& remote) {
  const bool collected = std::all_of(remote.keys.begin(), remote.keys.end(), [&](const Key& key) {
    return streams_[key].done && !streams_[key].incomplete;
  });
  if (!remote.empty || remote.lost || remote.forgotten || !collected) return;
  remote.forgotten = true;
  send_(node, wire::ForgetOutput{attempt_});
}

void OutputCollector::node_lost(NodeId node, bool end_was_heard) {
  const auto found = remotes_.find(node);
  if (found == remotes_.end() || found->second.forgotten) return;
  if (!found->second.lost) found->second.end_was_heard = end_was_heard || found->second.empty;
  found->second.lost = true;
  found->second.requests.clear();
}

void OutputCollector::give_up() {
  for (auto& [node, remote] : remotes_) node_lost(node);
  files_.close_all();
}

bool OutputCollector::complete() const {
  for (auto one = remotes_.lower_bound(waits_for_); one != remotes_.end(); ++one) {
    waits_for_ = one->first;
    const std::vector<Key>& keys = one->second.keys;
    const auto is_done = [&](const Key& key) { return known(key).done; };
    if (!one->second.lost && !std::all_of(keys.begin(), keys.end(), is_done)) return false;
  }
  return true;
}

std::optional<std::uint64_t> OutputCollector::lost_of(Rank rank, wire::OutputPart part) const {
  if (!is_expected({rank, part})) return std::nullopt;
  const Stream& stream = known({rank, part});
  const bool has_all = stream.done || (stream.end && stream.have >= *stream.end);
  return has_all ? stream.gone : std::max(stream.gone, stream.lost);
}

std::vector<std::string> OutputCollector::missing(const HasAllKnown& has_all_known) const {
  std::vector<std::string> lines;
  for (const auto& [node, remote] : remotes_) {
    std::vector<Rank> ranks;
    std::vector<Rank> unheard;
    std::string parts;  // streams of the rank, if only one rank is named
    for (const Key& key : remote.keys) {
      const Stream& stream = known(key);
      const bool all = stream.done || (stream.end && stream.have >= *stream.end);
      if (key.second == Part::error_file || (all && !stream.incomplete)) continue;
      const bool knows_of_more = stream.end || stream.have < stream.available || stream.incomplete;
      if (!knows_of_more && has_all_known && has_all_known(key.first, key.second)) {
        if (!remote.end_was_heard && (unheard.empty() || unheard.back() != key.first))
          unheard.push_back(key.first);
        continue;
      }
      if (ranks.empty() || ranks.back() != key.first) ranks.push_back(key.first);
      parts += (parts.empty() ? "std" : ", std") + std::string(ending_of(key.second));
      if (!all || !stream.end || stream.have < *stream.end)
        parts += " from byte " + std::to_string(stream.have) + " on";
    }
    if (!unheard.empty()) {
      lines.push_back("what " + std::string(unheard.size() == 1 ? "rank " : "ranks ") +
                      rank_ranges(unheard) + " printed after the last sign of life from " +
                      remote.name + " may be on that node, in " + remote.folder);
    }
    if (ranks.empty()) continue;
    const std::string whose = ranks.size() == 1 ? "rank " + rank_ranges(ranks) + " (" + parts + ")"
                                                : "ranks " + rank_ranges(ranks);
    lines.push_back("the rest of the output of " + whose + " is on " + remote.name + " in " +
                    remote.folder);
  }
  return lines;
}

}  // namespace dlaunch
