#include "launch/stage/job_staging.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <type_traits>
#include <utility>
#include <variant>

#include "os/clock.h"
#include "sync/rules.h"
#include "sync/unpack_rules.h"
#include "text/plain_text.h"
#include "text/strings.h"
#include "wire/codec.h"

namespace dlaunch {

namespace {

std::optional<std::size_t> index_of(const StageRunSettings& settings, NodeId node) {
  const auto found = std::find_if(settings.nodes.begin(), settings.nodes.end(),
                                  [&](const auto& one) { return one.node == node; });
  if (found == settings.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - settings.nodes.begin());
}

struct Target {
  std::string path;
  std::string folder;  // that the path is in
  std::string name;
};

Target target_of(const StageItem& item) {
  std::string path = sync::without_slashes(std::filesystem::path(item.to).lexically_normal());
  const std::size_t slash = path.rfind('/');
  Target target{"", slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
  target.path = std::move(path);
  return target;
}

/// Whether it can only be a file that marks the folder as the source's own. A node does not compare
/// the content of such a folder.
bool is_marker(const std::string& path, const std::string& folder) {
  const std::filesystem::path marker = path;
  return marker.parent_path() == folder &&
         marker.filename().native().starts_with(sync::kMarkerPrefix);
}

/// What an agent says is shown to the user.
std::string plain_lines(std::string_view text) {
  std::string plain;
  while (!text.empty()) plain += (plain.empty() ? "" : "\n") + plain_line(take_line(text));
  return plain;
}

wire::StageFrom order_for(const StageRunSettings& settings) {
  wire::StageFrom order;
  order.items = settings.items;
  order.self = settings.self;
  order.by = settings.by;
  order.for_ranks = settings.for_ranks;
  order.needs_all = settings.needs_all;
  order.window_ms = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(settings.window_delay).count());
  for (std::size_t i = 0; i < settings.nodes.size(); ++i) {
    const auto& to = settings.nodes[i];
    order.peers.push_back({to.node, to.name, to.forwards, settings.own_addresses(i)});
  }
  return order;
}

}  // namespace

JobStaging::JobStaging(EventLoop& loop, Callbacks callbacks)
    : callbacks_(std::move(callbacks)),
      run_(loop, {.send =
                      [this](NodeId node, wire::StageOrder order) {
                        callbacks_.send(node, wire::widened<wire::ToAgent>(std::move(order)));
                      },
                  .done = [this](const Result<StageReport>& report) { part_done(report); },
                  .show = [this](std::string text) { callbacks_.show(std::move(text)); },
                  .note = [this](std::string text) { callbacks_.note(std::move(text)); }}) {}

void JobStaging::begin(std::vector<StagePart> parts) {
  cancel();
  parts_ = std::move(parts);
  part_ = 0;
  is_on_ = true;
  lost_.clear();
  lost_source_ = {};
  begin_part();
}

void JobStaging::cancel() {
  run_.cancel();
  if (!std::exchange(is_on_, false) || !parts_[part_].source) return;
  tell_over();
  wire::StageFrom nothing;
  nothing.id = id_;
  callbacks_.send(*parts_[part_].source, nothing);
  callbacks_.show("");
}

/// For the source, which may be lost.
void JobStaging::tell_over() {
  for (const auto& [node, told] : told_) callbacks_.send(node, wire::StageOver{told.id});
  told_.clear();
}

void JobStaging::begin_part() {
  StagePart& part = parts_[part_];
  if (part.source && lost_.contains(*part.source)) return end_with_source();
  begin_at_source(part);
  // The last one may end the part, and then the caller may begin another staging.
  const auto lost = lost_;
  for (const auto begun = ++begun_; const NodeId node : lost) {
    if (!is_on_ || begun != begun_) return;
    leave_out(node);
  }
}

void JobStaging::begin_at_source(StagePart& part) {
  if (!part.source) return run_.begin(part.settings);
  told_.clear();
  listening_.clear();
  began_ = monotonic_now();
  wire::StageFrom order = order_for(part.settings);
  order.id = ++id_;
  callbacks_.send(*part.source, std::move(order));
}

void JobStaging::part_done(const Result<StageReport>& report) {
  if (report) callbacks_.staged(*report);
  if (report) return next_part();
  is_on_ = false;
  callbacks_.done(tl::unexpected(report.error()));
}

void JobStaging::next_part() {
  if (part_ + 1 < parts_.size()) {
    ++part_;
    return begin_part();
  }
  is_on_ = false;
  callbacks_.done(lost_source_);
}

// ---- lost nodes

void JobStaging::node_lost(NodeId node) {
  if (!is_on_ || !lost_.insert(node).second) return;
  parts_[part_].source == node ? end_with_source() : leave_out(node);
}

void JobStaging::leave_out(NodeId node) {
  const auto& source = parts_[part_].source;
  source ? callbacks_.send(*source, wire::StageLost{id_, node}) : run_.node_lost(node);
}

/// Only the source knew what the others still need.
void JobStaging::end_with_source() {
  tell_over();
  callbacks_.show("");
  lost_source_ = fail(exit_code::kNodeLost,
                      "stage: from " + parts_[part_].settings.self +
                          ": that node is lost; what has arrived stays, and the next staging goes "
                          "on from it");
  next_part();
}

bool JobStaging::is_from(NodeId source, std::uint32_t id) const {
  return part_ < parts_.size() && parts_[part_].source == source && id == id_;
}

void JobStaging::pass_on(NodeId node, const wire::StageAnswer& answer) {
  if (!is_on_) return;
  if (!parts_[part_].source)
    return std::visit([&](const auto& one) { run_.on(node, one); }, answer);
  // An answer to what another agent had ordered is not for this one.
  const auto told = told_.find(node);
  const auto id = std::visit([](const auto& one) { return one.id; }, answer);
  if (told == told_.end() || told->second.id != id) return;
  if (const auto* listens = std::get_if<wire::StageListening>(&answer))
    listening_[listens->link] = listens->at;
  wire::Frame frame = std::visit([](const auto& one) { return wire::encode(one); }, answer);
  callbacks_.send(*parts_[part_].source,
                  wire::StageLetter{id_, node, frame.type, std::move(frame.payload)});
}

/// The source may send only orders of a staging, and only to nodes of the staging; once that is
/// over, only StageOver.
void JobStaging::on(NodeId source, const wire::StageLetter& letter) {
  if (!is_from(source, letter.id) || !index_of(parts_[part_].settings, letter.node)) return;
  auto message = wire::decode<wire::ToAgent>(wire::FrameView{letter.type, 0, 0, 0, letter.payload});
  if (!message) return;
  std::visit(
      [&](auto& one) {
        using Message = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Message, wire::StageServe>) add_addresses(letter.node, one);
        if constexpr (wire::OneOf<Message, wire::StageOrder>) {
          if (!is_on_ && !std::is_same_v<Message, wire::StageOver>) return;
          if (is_allowed(letter.node, one)) return callbacks_.send(letter.node, std::move(one));
          cancel();
          callbacks_.done(
              fail(exit_code::kPreflight, "stage: the agent of " + parts_[part_].settings.self +
                                              " gave an order that this job does not need"));
        }
      },
      *message);
}

/// The source decides what is in the targets, and nothing outside of them.
bool JobStaging::is_allowed(NodeId node, wire::StageBegin& begin) {
  const StageRunSettings& settings = parts_[part_].settings;
  begin.by = settings.by;
  begin.for_ranks = settings.for_ranks;
  const std::size_t lines = settings.items.size();
  if (begin.roots.size() != lines || begin.origins.size() != lines) return false;
  Told& told = told_[node];
  told = {begin.id, {}};
  for (std::size_t i = 0; i < lines; ++i) {
    const Target target = target_of(settings.items[i]);
    const bool is_folder = begin.roots[i] == target.path && !settings.items[i].unpack;
    if (!is_folder && begin.roots[i] != target.folder) return false;
    if (begin.origins[i].target != target.path) return false;
    begin.origins[i].removes = begin.origins[i].removes && is_folder;
    if (!is_marker(begin.origins[i].marker, begin.roots[i])) begin.origins[i].marker.clear();
    told.are_folders.push_back(is_folder);
  }
  return true;
}

bool JobStaging::is_allowed(NodeId node, const wire::StageEntries& entries) const {
  const auto told = told_.find(node);
  if (told == told_.end() || told->second.id != entries.id) return false;
  const std::vector<StageItem>& items = parts_[part_].settings.items;
  return std::all_of(entries.entries.begin(), entries.entries.end(), [&](const StageEntry& one) {
    if (one.root >= told->second.are_folders.size()) return false;
    if (told->second.are_folders[one.root])
      return one.unpack.empty() && !one.entry.path.starts_with(sync::kOwnPrefix);
    const bool unpacks = items[one.root].unpack;
    const std::string name = target_of(items[one.root]).name;
    return one.entry.kind == SyncEntry::Kind::file &&
           one.entry.path == (unpacks ? sync::archive_beside(name) : name) &&
           one.unpack == (unpacks ? name : "");
  });
}

/// A node may connect only to what listens for it.
bool JobStaging::is_allowed(NodeId node, const wire::StageFeed& feed) const {
  const auto listening = listening_.find(feed.link);
  if (listening != listening_.end()) return feed.at == listening->second;
  const StageRunSettings& settings = parts_[part_].settings;
  const auto index = index_of(settings, node);
  const std::vector<std::string> own =
      index ? settings.own_addresses(*index) : std::vector<std::string>();
  return std::all_of(feed.at.begin(), feed.at.end(), [&](const StageAddress& one) {
    return std::find(own.begin(), own.end(), one.address) != own.end();
  });
}

void JobStaging::add_addresses(NodeId holder, wire::StageServe& serve) const {
  const StageRunSettings& settings = parts_[part_].settings;
  const auto from = index_of(settings, holder);
  const auto to = index_of(settings, serve.guest);
  serve.addresses = from && to ? settings.addresses(*from, *to) : std::vector<std::string>();
}

void JobStaging::on(NodeId source, const wire::StageSaid& said) {
  if (!is_on_ || !is_from(source, said.id)) return;
  const std::string text = plain_line(said.text);
  said.is_note ? callbacks_.note(text) : callbacks_.show(text);
}

void JobStaging::on(NodeId source, const wire::StageReported& reported) {
  if (!is_on_ || !is_from(source, reported.id)) return;
  if (reported.exit_code != 0) {
    const int code = reported.exit_code;
    const bool is_known = code == exit_code::kJobFile || code == exit_code::kNodeLost;
    return part_done(fail(is_known ? code : exit_code::kPreflight, plain_lines(reported.problem)));
  }
  StageReport report;
  const StageRunSettings& settings = parts_[part_].settings;
  for (StagedNode node : reported.nodes) {
    const auto index = index_of(settings, node.node);
    if (!index) continue;
    node.name = settings.nodes[*index].name;
    node.source = plain_line(node.source);
    report.nodes.push_back(std::move(node));
  }
  report.extent = {reported.files, reported.bytes};
  for (const std::string& path : reported.special) report.special.push_back(plain_line(path));
  for (const std::string& note : reported.notes) report.notes.push_back(plain_line(note));
  report.took = monotonic_now() - began_;
  part_done(report);
}

}  // namespace dlaunch
