// The receiving side of `stage`: the exchange of messages with the sending side
// (node/stage/stage_run.h), the files (StageFiles), and the connections to other nodes. It runs on
// the nodes and, for `collect`, on the launcher.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/stage/stage_archives.h"
#include "node/stage/stage_claims.h"
#include "node/stage/stage_door.h"
#include "node/stage/stage_files.h"
#include "node/stage/stage_uplink.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class StageService {
 public:
  using Send = std::function<void(wire::StageAnswer)>;
  /// `env`: this process's own, which outlives this.
  StageService(EventLoop& loop, const Environment& env, Send send)
      : loop_(loop), env_(env), send_(std::move(send)), claims_(env) {}

  void on(wire::StageBegin& begin);
  void on(wire::StageEntries& entries);
  void on(const wire::StageStream& stream);
  void on(const wire::StageHashes& hashes);
  void on(wire::StageServe& serve);
  void on(const wire::StageFeed& feed);
  void on(const wire::StageData& data);
  void on(const wire::StageOver& over);
  /// Ends a staging in any state: no socket and no descriptor stays open. What it has staged counts
  /// as in use until release().
  void abandon();
  /// Call when the ranks are over.
  void release() { claims_.release(); }

 private:
  enum class Stage : std::uint8_t { looking, looked, ready, making, writing, done };

  /// Whether an order belongs to this staging. Once there is a problem, further orders are ignored.
  [[nodiscard]] bool is_current(std::uint32_t id) const {
    return files_ && id == id_ && problem().empty();
  }
  [[nodiscard]] const std::string& problem() const {
    return files_->problem().empty() && archives_ ? archives_->problem() : files_->problem();
  }
  /// Grows as long as work is done.
  [[nodiscard]] std::uint64_t work_done() const { return files_->work() + archives_->work(); }
  [[nodiscard]] bool claim(const wire::StageBegin& begin);
  void refuse_what_others_use();
  void work_on();
  void work();
  void look();
  void write();
  void tell_wants(bool last);
  void tell_progress();
  [[nodiscard]] bool is_sign_due() const;
  void link_up();
  void link_lost(std::string why);
  void forget_closed_doors();
  /// Whether there is a problem. Reports it and ends the staging once no archive is being unpacked.
  bool has_failed();

  EventLoop& loop_;
  const Environment& env_;
  Send send_;
  StageClaims claims_;
  bool for_ranks_ = false;
  std::uint32_t id_ = 0;
  std::uint64_t turns_ = 0;  // identifies the staging of a posted turn
  bool working_ = false;     // a turn is posted
  Stage stage_ = Stage::looking;
  std::vector<std::uint32_t> missing_;
  bool all_listed_ = false;
  std::optional<StageFiles> files_;        // while a staging is under way
  std::optional<StageArchives> archives_;  // likewise
  std::vector<StageWant> wants_;
  std::uint32_t link_ = 0;      // where blocks come from now
  bool from_launcher_ = false;  // as StageData
  std::uint64_t received_ = 0;  // bytes of StageData of this link
  std::uint64_t told_taken_ = 0;
  std::uint64_t told_position_ = 0;
  std::uint64_t told_work_ = 0;  // work_done() at told_at_
  MonotonicTime told_at_{0};
  std::vector<std::unique_ptr<StageDoor>> doors_;
  std::unique_ptr<StageUplink> uplink_;
};

}  // namespace dlaunch
