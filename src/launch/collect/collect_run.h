// `collect`: copies files from the nodes to the launcher. Each node stages its files with the
// launcher as the only target (node/stage/collect_service.h is the other end), so files that this
// machine already has are not sent again. docs/how-to/collect-results.md has the rules.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/environment.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/stage.h"
#include "model/time.h"
#include "node/stage/stage_service.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

struct CollectSettings {
  struct From {
    NodeId node;
    std::string name;
    std::vector<StageItem> items;       // as in wire::CollectBegin
    std::vector<StageItem> optional{};  // likewise, but not reported if absent
    std::string problem{};              // why the node cannot be asked; empty: it can be
  };
  std::vector<From> nodes;
  std::uint64_t most_bytes = 0;  // of one node; 0: any number
  Duration limit{};              // for the whole collection
};

/// Lives on the engine's one thread. Never runs for longer than a few milliseconds at a time.
class CollectRun {
 public:
  struct Callbacks {
    std::function<void(NodeId, wire::ToAgent)> send;
    /// Called once, not from within begin().
    std::function<void(CollectReport)> done;
    std::function<void(std::string)> show;  // the line on a terminal; empty: none
  };
  CollectRun(EventLoop& loop, Callbacks callbacks);
  CollectRun(const CollectRun&) = delete;
  CollectRun& operator=(const CollectRun&) = delete;

  /// Call once.
  void begin(CollectSettings settings);
  void on(NodeId node, wire::OneOf<wire::CollectAnswer> auto& answer) {
    if (Source* const source = find(node)) take(*source, answer);
  }
  void node_lost(NodeId node, const std::string& why);
  /// Ends what is under way. What has arrived stays, and the next collection resumes from there.
  void give_up(const std::string& why);

 private:
  enum class Stage : std::uint8_t { waiting, asked, over };
  struct Source {
    CollectedNode result;
    std::vector<StageItem> items;
    std::size_t needed = 0;  // how many of the first items are reported if absent
    Stage stage = Stage::waiting;
    std::vector<std::string> roots{};       // folders on this machine for its entries
    std::unique_ptr<StageService> files{};  // from Stage::asked on; it may have posted work
  };

  [[nodiscard]] Source* find(NodeId node);
  void ask_more();
  void ask(Source& source);
  void take(Source& source, wire::StageBegin& begin);
  void take(Source& source, wire::StageEntries& entries);
  void take(Source& source, wire::StageData& data);
  void take(Source& source, wire::StageFeed& feed);
  void take(Source& source, wire::StageServe& serve);
  void take(Source& source, wire::OneOf<wire::StageOrder> auto& order) { source.files->on(order); }
  void take(Source& source, const wire::CollectDone& done);
  void refuse(Source& source, std::string problem);
  void end(Source& source);
  void post_ask_more();
  void tick();
  void finish();

  EventLoop& loop_;
  Callbacks callbacks_;
  Timer timer_;
  const Environment environment_;  // for StageService's records of removed files; none are kept
  CollectSettings settings_;
  std::deque<Source> sources_;
  MonotonicTime began_{0};
  bool is_running_ = false;
};

}  // namespace dlaunch
