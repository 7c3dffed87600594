#include "launch/output_collector.h"

#include <algorithm>
#include <limits>
#include <set>

#include "model/result.h"
#include "report/rank_list.h"

namespace dlaunch {

namespace {

// Requests on their way to one node: 2 MiB, enough for 100 MB/s over 20 ms.
constexpr std::size_t kWindow = 16;
// PyTorch writes a message and a traceback; a rank that writes more there is not believed.
constexpr std::uint64_t kMostOfErrorFile = std::uint64_t{1} << 20;

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

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
  streams_.clear();
  node_of_rank_.clear();
  files_.close_all();
  write_error_.clear();
  for (const RankPlan& rank : plan.ranks) {
    node_of_rank_.push_back(rank.node);
    const NodePlan& node = plan.nodes[rank.node.value];
    if (!node.is_remote) continue;
    Remote& remote = remotes_[rank.node];
    remote.name = node.name;
    remote.folder = node.output_folder;
  }
}

void OutputCollector::expect(Key key) {
  if (key.first.value >= node_of_rank_.size()) return;
  const auto remote = remotes_.find(node_of_rank_[key.first.value]);
  if (remote == remotes_.end() || !streams_.emplace(key, Stream{}).second) return;
  remote->second.keys.push_back(key);
}

void OutputCollector::rank_started(Rank rank) {
  expect({rank, Part::out});
  expect({rank, Part::err});
}

OutputCollector::Stream* OutputCollector::find(NodeIndex node, Key key) {
  const auto found = streams_.find(key);
  if (found == streams_.end() || node_of_rank_[key.first.value] != node) return nullptr;
  return &found->second;
}

std::string OutputCollector::path_of(Key key) const {
  return folder_ + "/rank-" + std::to_string(key.first.value) + '.' + ending_of(key.second);
}

bool OutputCollector::store(Key key, std::uint64_t offset, std::string_view bytes) {
  const std::string path = path_of(key);
  const int error = files_.write(path, offset, bytes);
  if (error != 0 && write_error_.empty())
    write_error_ = "cannot write " + path + ": " + errno_text(error);
  return error == 0;
}

void OutputCollector::add(NodeIndex node, const wire::OutputView& data) {
  if (data.attempt != attempt_) return;
  const Key key{data.rank, part_of(data.stream)};
  Stream* stream = find(node, key);
  if (stream == nullptr || stream->done) return;
  // What cannot be stored now is fetched at the end; perhaps there is room again by then.
  if (store(key, data.offset, data.bytes))
    stream->settled.add(data.offset, data.offset + data.bytes.size());
}

void OutputCollector::end(NodeIndex node, const wire::OutputEnd& end) {
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

void OutputCollector::node_empty(NodeIndex node, Attempt attempt) {
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

void OutputCollector::fetch_more(NodeIndex node) {
  Remote& remote = remotes_[node];
  if (remote.lost || remote.forgotten) return;
  for (const Key& key : remote.keys) {
    Stream& stream = streams_[key];
    while (remote.requests.size() < kWindow && ask_next(node, remote, key, stream)) {
    }
  }
  forget_if_collected(node, remote);
}

/// False: nothing of the stream is to be asked for now.
bool OutputCollector::ask_next(NodeIndex node, Remote& remote, Key key, Stream& stream) {
  if (!stream.fetching || stream.done) return false;
  if (stream.ask_from >= stream.ask_to) {
    if (stream.asked > 0) return false;  // their answers tell whether there still is a gap
    const std::uint64_t limit = key.second == Part::error_file ? kMostOfErrorFile : kNoEnd;
    const auto gap = stream.settled.first_gap(std::min(stream.end.value_or(limit), limit));
    if (!gap) {
      finish(stream, stream.gone > stream.lost);
      return false;
    }
    stream.ask_from = gap->begin;
    // Where nobody knows the end, one answer after the other.
    stream.ask_to = stream.end ? gap->end : std::min(gap->end, gap->begin + wire::kMostFetched);
  }
  const auto size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(wire::kMostFetched, stream.ask_to - stream.ask_from));
  send_(node, wire::FetchOutput{attempt_, key.first, key.second, stream.ask_from, size});
  remote.requests.push_back({key, stream.ask_from, size});
  stream.ask_from += size;
  ++stream.asked;
  return true;
}

void OutputCollector::fetched(NodeIndex node, const wire::FetchedOutput& data) {
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

/// Every answer settles something, or ends the stream, so that asking comes to an end.
void OutputCollector::settle(Key key, Stream& stream, const Request& request,
                             const wire::FetchedOutput& data) {
  const std::uint64_t size = data.bytes.size();
  if (data.offset < request.offset || size > request.size) return finish(stream, true);
  if (size == 0) {  // nothing is there from here on
    if (!stream.end) stream.end = data.offset;
    stream.gone += *stream.end - std::min(*stream.end, request.offset);
    stream.settled.add(request.offset, *stream.end);
    stream.ask_to = stream.ask_from;
    return;
  }
  stream.gone += data.offset - request.offset;
  stream.settled.add(request.offset, data.offset);
  if (!store(key, data.offset, data.bytes)) return finish(stream, true);
  stream.settled.add(data.offset, data.offset + size);
}

void OutputCollector::finish(Stream& stream, bool incomplete) {
  stream.done = true;
  stream.incomplete = incomplete;
}

void OutputCollector::forget_if_collected(NodeIndex node, Remote& remote) {
  const bool collected = std::all_of(remote.keys.begin(), remote.keys.end(), [&](const Key& key) {
    return streams_[key].done && !streams_[key].incomplete;
  });
  if (!remote.empty || remote.lost || remote.forgotten || !collected) return;
  remote.forgotten = true;
  send_(node, wire::ForgetOutput{attempt_});
}

void OutputCollector::node_lost(NodeIndex node) {
  const auto found = remotes_.find(node);
  if (found == remotes_.end() || found->second.forgotten) return;
  found->second.lost = true;
  found->second.requests.clear();
}

void OutputCollector::give_up() {
  for (auto& [node, remote] : remotes_) node_lost(node);
  files_.close_all();
}

bool OutputCollector::complete() const {
  return std::all_of(remotes_.begin(), remotes_.end(), [&](const auto& one) {
    return one.second.lost || std::all_of(one.second.keys.begin(), one.second.keys.end(),
                                          [&](const Key& key) { return streams_.at(key).done; });
  });
}

std::vector<std::string> OutputCollector::missing() const {
  std::vector<std::string> lines;
  for (const auto& [node, remote] : remotes_) {
    std::vector<Rank> ranks;
    std::string parts;  // of the only rank
    for (const Key& key : remote.keys) {
      const Stream& stream = streams_.at(key);
      const auto gap = stream.settled.first_gap(stream.end.value_or(kNoEnd));
      if (key.second == Part::error_file || (!gap && !stream.incomplete)) continue;
      if (ranks.empty() || ranks.back() != key.first) ranks.push_back(key.first);
      parts += (parts.empty() ? "std" : ", std") + std::string(ending_of(key.second));
      if (gap) parts += " from byte " + std::to_string(gap->begin) + " on";
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
