// Inspects the condition of this node. File systems and drivers may hang, so a separate process
// does the work and is abandoned after a limit.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/result.h"
#include "node/ranks/carried_environment.h"
#include "node/side_process.h"
#include "os/event_loop.h"
#include "wire/message.h"

namespace dlaunch {

/// Lives on the agent's one thread.
class Inspection {
 public:
  using Report = std::function<void(const wire::Inspected&)>;

  Inspection(EventLoop& loop, Report report)
      : report_(std::move(report)), process_(loop), remover_(loop) {}

  /// Answers once, after the request's limit at the latest. Abandons an earlier request without an
  /// answer.
  void begin(const wire::Inspect& question);

 private:
  void remove_sample();
  static wire::Inspected answer(const wire::Inspect& question, Result<std::string> said);

  Report report_;
  SideProcess process_;
  std::string sample_;             // the folder that the process makes (inspect_node())
  std::vector<std::string> left_;  // such folders of processes that were killed
  SideProcess remover_;            // of these
};

/// The inspection itself, for that process. Blocks as long as file systems and drivers do. `sample`
/// is the name of a folder that it makes in a local temporary folder and removes again.
[[nodiscard]] NodeCondition inspect_node(const wire::Inspect& question, const std::string& sample);

/// The environment of the probe for collectives, the same as that of ranks that measure. `login`:
/// the agent's own environment. Pure except for `exists`.
[[nodiscard]] Environment probe_environment(Environment login, const wire::Inspect& question,
                                            const FolderExists& exists);

}  // namespace dlaunch
