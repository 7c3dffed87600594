// Merges what the nodes of an attempt report about its checkpoints into one account, and writes
// that as text and JSON. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/checkpoint.h"
#include "text/json_text.h"

namespace dlaunch {

class CheckpointTally {
 public:
  /// Files of several nodes with the same path, size and time count as one, which is on a shared
  /// file system. Files with the same path but another size or time are parts of one checkpoint on
  /// separate disks.
  void add(const std::string& node, const CheckpointsFound& found);
  /// A node will report nothing, or only a part: "node3 was lost".
  void lacks(const std::string& problem) { problems_.push_back(problem); }
  [[nodiscard]] CheckpointAccount account() const;

 private:
  struct Seen {
    std::vector<std::pair<std::uint64_t, WallTime>> copies;  // bytes and time
    std::chrono::nanoseconds age{0};
  };
  static void merge(std::map<std::string, Seen>& all, const CheckpointItem& item, WallTime at);
  static CheckpointAccount::Item newest(const std::map<std::string, Seen>& all);

  std::map<std::string, Seen> written_;
  std::map<std::string, Seen> older_;
  std::uint32_t unlisted_ = 0;
  std::vector<std::string> problems_;
};

/// "saved ckpt/step-300 (2.4 GB) 3 s before the end, the last of 3 in this attempt (7.2 GB)",
/// "no checkpoint was written in this attempt; the last one is ckpt/step-100 (2.4 GB), written
/// 2 h before the end". `patterns`: shown if there is no checkpoint at all. The text is safe for a
/// terminal.
[[nodiscard]] std::string checkpoint_text(const CheckpointAccount& account,
                                          const std::vector<std::string>& patterns);

/// Writes the members of an object, which docs/reference/run-folder.md lists.
void write_checkpoint(JsonText& json, const CheckpointAccount& account);

/// Whether a running job has completed a checkpoint: `now` has something that `before` lacks, and
/// nothing has changed since `previous`.
using CheckpointsOfNodes = std::map<NodeId, std::vector<CheckpointItem>>;
[[nodiscard]] bool is_saved(const CheckpointsOfNodes& before, const CheckpointsOfNodes& previous,
                            const CheckpointsOfNodes& now);

}  // namespace dlaunch
