#include "node/checkpoint/checkpoint_watch.h"

#include <utility>

#include "node/checkpoint/checkpoint_change.h"
#include "node/checkpoint/checkpoint_list.h"
#include "os/clock.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr std::chrono::seconds kLookLimit{2};

std::optional<CheckpointList> list_in(const Result<std::string>& answer) {
  return answer ? wire::decode_value<CheckpointList>(*answer) : std::nullopt;
}

std::string why_not(const Result<std::string>& answer) {
  return answer ? "too many names" : answer.error().message;
}

}  // namespace

void CheckpointWatch::begin(const wire::StartRanks& start) {
  if (start.checkpoints.empty()) return;
  attempt_ = start.attempt;
  workdir_ = start.workdir;
  patterns_ = start.checkpoints;
  begun_ = file_time_now();
  before_ = {{}, false};
  problem_.clear();
  questions_.clear();
  pids_.clear();
  const auto work = [workdir = workdir_, patterns = patterns_, begun = begun_, last = last_] {
    CheckpointList found = list_checkpoints(workdir, patterns);
    return wire::encode_value(before_ranks(std::move(found), last, begun, wall_now()));
  };
  look(work, [this](const Result<std::string>& said) { take_first(said); });
}

void CheckpointWatch::look(SideProcess::Work work, SideProcess::Done done) {
  look_.begin(std::move(work), kLookLimit, std::move(done));
  if (const auto pid = look_.pid()) pids_.insert(*pid);
}

void CheckpointWatch::take_first(const Result<std::string>& answer) {
  if (auto found = list_in(answer)) {
    before_ = *std::move(found);
  } else {
    problem_ = "cannot tell which checkpoints are older than the attempt (" + why_not(answer) + ')';
  }
  next();
}

void CheckpointWatch::see(const wire::SeeCheckpoints& question) {
  if (patterns_.empty() || question.attempt != attempt_) return;
  questions_.push_back({question.id, wall_now()});
  next();
}

void CheckpointWatch::end() {
  if (patterns_.empty()) return;
  // The look under way may belong to the first question, so that question is kept and answered too.
  if (questions_.size() > 1) questions_.resize(1);
  questions_.push_back({0, wall_now()});
  next();
}

void CheckpointWatch::next() {
  if (look_.is_under_way() || questions_.empty()) return;
  const auto work = [workdir = workdir_, patterns = patterns_] {
    return wire::encode_value(list_checkpoints(workdir, patterns));
  };
  look(work, [this](const Result<std::string>& said) {
    const Question question = questions_.front();
    questions_.pop_front();
    answer(question, said);
    next();
  });
}

void CheckpointWatch::answer(const Question& question, const Result<std::string>& answer) {
  CheckpointsFound found{question.at, {}, 0, {}, problem_};
  if (const auto now = list_in(answer)) {
    CheckpointChange change = change_of(before_, *now, begun_);
    found.written = std::move(change.written);
    if (found.written.size() > kMostCheckpoints) {
      found.unlisted = static_cast<std::uint32_t>(found.written.size() - kMostCheckpoints);
      found.written.resize(kMostCheckpoints);
    }
    if (change.older) found.older.push_back(*std::move(change.older));
    if (!now->is_whole) found.problem = "too many files to look at all of them";
    if (question.id == 0) last_ = *now;
  } else {
    found.problem = "could not look for checkpoints (" + why_not(answer) + ')';
  }
  send_(wire::CheckpointsSeen{attempt_, question.id, std::move(found)});
  if (question.id != 0) return;
  patterns_.clear();
  if (const auto done = std::exchange(done_, nullptr)) done();
}

void CheckpointWatch::when_told(std::function<void()> done) {
  if (patterns_.empty()) return done();
  done_ = std::move(done);
}

}  // namespace dlaunch
