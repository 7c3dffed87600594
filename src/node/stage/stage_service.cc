#include "node/stage/stage_service.h"

#include <algorithm>
#include <utility>

#include <sys/stat.h>

#include "os/clock.h"
#include "text/strings.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostWants = 512;          // in one message
constexpr std::size_t kMostHashes = 8192;        // likewise, about
constexpr std::uint64_t kMostQueued = 4U << 20;  // bytes from another node that wait for the disk
constexpr std::uint64_t kTold = 16;              // blocks between two StageProgress
constexpr std::size_t kMostDoors = 64;
// How often a node reports that it works while it makes no progress because it reads what it has.
constexpr std::chrono::seconds kSignOfLife{1};

}  // namespace

void StageService::abandon() {
  claims_.give_up();
  ++turns_;
  working_ = false;
  uplink_.reset();
  doors_.clear();  // before the files that they read
  archives_.reset();
  if (files_) files_->remove_unpacked();
  files_.reset();
  wants_.clear();
  missing_.clear();
  stage_ = Stage::looking;
  all_listed_ = from_launcher_ = false;
  link_ = 0;
  received_ = told_taken_ = told_position_ = told_work_ = 0;
}

void StageService::on(wire::StageBegin& begin) {
  abandon();
  id_ = begin.id;
  for_ranks_ = begin.for_ranks;
  if (!claim(begin)) return;
  files_.emplace();
  archives_.emplace(loop_, *files_, [this] { work_on(); });
  for (std::uint32_t i = 0; i < begin.needs.size(); ++i) {
    struct stat info {};
    if (::stat(begin.needs[i].c_str(), &info) != 0) missing_.push_back(i);
  }
  if (!missing_.empty()) return;  // nothing will be copied, so make no folders
  files_->open(begin.roots, begin.origins, env_, begin.by);
  has_failed();
}

/// False: another staging has one of the targets.
bool StageService::claim(const wire::StageBegin& begin) {
  std::vector<std::string> targets;
  for (const StageOrigin& origin : begin.origins) {
    if (!origin.target.empty()) targets.push_back(origin.target);
  }
  const auto other = claims_.claim(begin.by, targets);
  send_(wire::StageClaimed{id_, other ? other->by : "", other ? other->target : ""});
  return !other;
}

void StageService::on(wire::StageEntries& entries) {
  if (!is_current(entries.id) || all_listed_) return;
  if (!missing_.empty()) {
    all_listed_ = true;
    return tell_wants(true);
  }
  files_->add(std::move(entries.entries));
  all_listed_ = entries.last;
  if (!has_failed()) work_on();
}

void StageService::on(const wire::StageStream& stream) {
  if (!is_current(stream.id) || stage_ != Stage::looked) return;
  files_->add(stream.runs, stream.same, stream.holds);
  if (stream.is_direct) files_->trust_sender();
  if (stream.last && files_->problem().empty()) files_->check_room();
  if (stream.last && files_->problem().empty()) refuse_what_others_use();
  if (has_failed() || !stream.last) return;
  stage_ = Stage::ready;
  send_(wire::StageReady{id_});
}

void StageService::refuse_what_others_use() {
  for (const std::string& target : files_->changed_targets()) {
    const std::vector<std::string> users = claims_.users_of(target);
    if (users.empty()) continue;
    return files_->refuse(
        target + ": is in use by " + joined(users) +
        ", and this staging would change it: wait until that run has ended, or stage to "
        "another path");
  }
}

void StageService::on(const wire::StageHashes& hashes) {
  if (!is_current(hashes.id) || hashes.words.size() != 4 * hashes.entries.size()) return;
  for (std::size_t i = 0; i < hashes.entries.size(); ++i) {
    StrongHash hash;
    std::copy_n(hashes.words.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, hash.begin());
    files_->set_hash(hashes.entries[i], hash);
  }
  work_on();
}

void StageService::on(wire::StageServe& serve) {
  if (!is_current(serve.id) || stage_ < Stage::ready) return;
  forget_closed_doors();
  wire::StageListening answer{id_, serve.link, {}};
  if (doors_.size() < kMostDoors) {
    doors_.push_back(std::make_unique<StageDoor>(loop_, blocks_of(*files_), std::move(serve)));
    answer.at = doors_.back()->addresses();
  }
  send_(answer);
}

void StageService::on(const wire::StageFeed& feed) {
  if (!is_current(feed.id) || stage_ < Stage::ready) return;
  if (stage_ == Stage::ready) stage_ = Stage::making;
  link_ = feed.link;
  uplink_.reset();
  files_->drop_queue();
  received_ = told_taken_ = 0;
  from_launcher_ = feed.at.empty();
  if (from_launcher_) {
    link_up();
  } else {
    uplink_ = std::make_unique<StageUplink>(
        loop_, feed, files_->position(),
        StageUplink::Callbacks{.connected = [this] { link_up(); },
                               .pieces =
                                   [this](const std::vector<sync::Piece>& pieces) {
                                     files_->take(pieces);
                                     work_on();
                                   },
                               .ended = [this](std::string why) { link_lost(std::move(why)); },
                               .has_room = [this] { return files_->queued() < kMostQueued; }});
  }
  work_on();
}

void StageService::link_up() {
  send_(wire::StageLinked{id_, link_, files_->position(), {}});
}

void StageService::link_lost(std::string why) {
  uplink_.reset();
  // The launcher names another source for what is missing; what has arrived is written meanwhile.
  if (stage_ != Stage::done)
    send_(wire::StageLinked{id_, link_, files_->position(), std::move(why)});
}

void StageService::on(const wire::StageData& data) {
  if (!is_current(data.id) || data.link != link_ || !from_launcher_) return;
  const auto pieces = sync::read_pieces(data.bytes);
  if (pieces) files_->take(*pieces);
  received_ += data.bytes.size();
  work_on();
}

void StageService::on(const wire::StageOver& over) {
  if (files_ && over.id == id_) abandon();
}

void StageService::work_on() {
  if (working_ || !files_) return;
  working_ = true;
  loop_.post([this, turn = turns_] {
    if (turn != turns_) return;
    working_ = false;
    work();
  });
}

void StageService::work() {
  if (has_failed()) return;
  if (stage_ == Stage::looking) return look();
  if (stage_ == Stage::making && files_->make_some()) stage_ = Stage::writing;
  if (has_failed()) return;
  if (stage_ == Stage::writing) return write();
  if (stage_ != Stage::making) return;
  if (is_sign_due()) tell_progress();
  work_on();
}

bool StageService::is_sign_due() const {
  return work_done() != told_work_ && monotonic_now() - told_at_ >= kSignOfLife;
}

void StageService::look() {
  const bool all = files_->look_some(wants_);
  if (has_failed()) return;
  const bool is_last = all && all_listed_;
  std::size_t hashes = 0;
  for (const StageWant& want : wants_) hashes += want.hashes.size();
  const bool is_full = wants_.size() >= kMostWants || hashes >= kMostHashes;
  if (all || is_full || is_sign_due()) tell_wants(is_last);
  if (is_last) {
    stage_ = Stage::looked;
  } else if (!all) {
    work_on();
  }
}

void StageService::tell_wants(bool last) {
  told_work_ = work_done();
  told_at_ = monotonic_now();
  send_(wire::StageWants{id_, std::exchange(wants_, {}), std::exchange(missing_, {}),
                         files_->looked(), last});
}

void StageService::write() {
  const bool more = files_->write_some();
  if (files_->problem().empty()) archives_->go_on();
  if (has_failed()) return;
  for (const auto& door : doors_) door->send_more();
  if (uplink_) {
    if (files_->queued() < kMostQueued) uplink_->go_on();
  }
  if (files_->is_complete() && archives_->is_complete()) {
    const bool is_finished = files_->finish_some();
    if (has_failed()) return;
    tell_progress();
    if (!is_finished) return work_on();
    uplink_.reset();
    stage_ = Stage::done;
    for_ranks_ ? claims_.use() : claims_.release();
    return send_(wire::StageDone{id_, {}, files_->removed(), archives_->skipped()});
  }
  const bool is_due = files_->position() >= told_position_ + kTold ||
                      received_ - files_->queued() > told_taken_ || is_sign_due();
  if (is_due) tell_progress();
  if (more) work_on();
}

void StageService::tell_progress() {
  told_position_ = files_->position();
  told_taken_ = from_launcher_ ? received_ - files_->queued() : 0;
  told_work_ = work_done();
  told_at_ = monotonic_now();
  send_(wire::StageProgress{id_, link_, told_position_, told_taken_, told_work_});
}

void StageService::forget_closed_doors() {
  std::erase_if(doors_, [](const auto& door) { return door->is_over(); });
}

bool StageService::has_failed() {
  if (problem().empty()) return false;
  if (!archives_->give_up()) {
    if (is_sign_due()) tell_progress();
    return true;
  }
  const wire::StageDone done{id_, problem(), 0, 0};
  abandon();
  send_(done);
  return true;
}

}  // namespace dlaunch
