// All lines of a job's `stage`, one source after the other: files of this machine, and files of
// nodes, which their own agents stage (node/stage/stage_from_service.h). The orders of these agents
// and the answers to them pass through JobStaging, which adds the addresses at which nodes reach
// each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/result.h"
#include "model/stage.h"
#include "node/stage/stage_run.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lines with the same source.
struct StagePart {
  std::optional<NodeId> source;  // none: this machine
  StageRunSettings settings;
};

/// Lives on the engine's one thread.
class JobStaging {
 public:
  struct Callbacks {
    std::function<void(NodeId, wire::ToAgent)> send;
    /// A part is staged. Called for each, in order; not from within begin().
    std::function<void(const StageReport&)> staged;
    /// All parts are staged, or one has failed as in StageRun::Callbacks::done. kNodeLost: no node
    /// is left, or the source of a part was lost; the other parts are staged.
    std::function<void(Status)> done;
    std::function<void(std::string)> show;  // as in StageRun
    std::function<void(std::string)> note;
  };

  JobStaging(EventLoop& loop, Callbacks callbacks);
  ~JobStaging() { cancel(); }
  JobStaging(const JobStaging&) = delete;
  JobStaging& operator=(const JobStaging&) = delete;

  void begin(std::vector<StagePart> parts);
  void on(NodeId node, const wire::OneOf<wire::StageAnswer> auto& answer) { pass_on(node, answer); }
  void on(NodeId source, const wire::StageLetter& letter);
  void on(NodeId source, const wire::StageSaid& said);
  void on(NodeId source, const wire::StageReported& reported);
  /// The others go on without the node. May call staged() and done().
  void node_lost(NodeId node);
  /// Never calls done().
  void cancel();

 private:
  void begin_part();
  void begin_at_source(StagePart& part);
  void next_part();
  void tell_over();
  void leave_out(NodeId node);
  void end_with_source();
  void part_done(const Result<StageReport>& report);
  void pass_on(NodeId node, const wire::StageAnswer& answer);
  void add_addresses(NodeId holder, wire::StageServe& serve) const;
  [[nodiscard]] bool is_allowed(NodeId node, wire::StageBegin& begin);
  [[nodiscard]] bool is_allowed(NodeId node, const wire::StageEntries& entries) const;
  /// A node sends only what it has received in this staging.
  [[nodiscard]] static bool is_allowed(NodeId, const wire::StageStream& stream) {
    return !stream.holds;
  }
  [[nodiscard]] bool is_allowed(NodeId node, const wire::StageFeed& feed) const;
  [[nodiscard]] bool is_allowed(NodeId, const wire::OneOf<wire::StageOrder> auto&) const {
    return true;
  }
  /// `id` is that of the part that is being staged, or was last, and its files are on `source`.
  [[nodiscard]] bool is_from(NodeId source, std::uint32_t id) const;

  Callbacks callbacks_;
  StageRun run_;
  std::vector<StagePart> parts_;
  std::size_t part_ = 0;
  std::uint64_t begun_ = 0;  // parts, of all stagings
  bool is_on_ = false;
  std::set<NodeId> lost_;
  Status lost_source_;
  std::uint32_t id_ = 0;  // of a part whose files are on a node
  /// What the source of that part last told a node.
  struct Told {
    std::uint32_t id = 0;           // of the source's staging
    std::vector<bool> are_folders;  // by line: the target itself is the root
  };
  std::map<NodeId, Told> told_;
  std::map<std::uint32_t, std::vector<StageAddress>> listening_;  // by link
  MonotonicTime began_{0};
};

}  // namespace dlaunch
