#pragma once

#include <string>
#include <vector>

#include "launch/collect/collect_run.h"
#include "model/job_spec.h"
#include "model/result.h"
#include "model/stage.h"

namespace dlaunch {

/// The run, and the folders that the paths of `collect` can refer to; all are absolute.
struct CollectPlace {
  std::string run_id;
  std::string run_folder;
  std::string started_in;    // where dlaunch was started
  std::string workdir;       // of the ranks; empty: that of their container
  std::string home;          // the user's, on this machine
  bool has_several = false;  // the run has several nodes
};
struct CollectNode {
  NodeId node;
  std::string name;
  bool is_launcher = false;  // its files lie on this machine
  std::string problem{};     // why the node cannot be asked; empty: it can be
};

/// Pure.
[[nodiscard]] CollectSettings collect_settings(const JobSpec& spec, const CollectPlace& place,
                                               const std::vector<CollectNode>& nodes);

/// "collected 12 files (1.2 GB) from 8 nodes in 12 s: 34 MB sent".
[[nodiscard]] std::string collected_text(const CollectReport& report);
/// What is missing and what was left out, a sentence each, with the names of the nodes.
[[nodiscard]] std::vector<std::string> remarks_on(const CollectReport& report);
/// The lines of an error: what is wrong on which node, and what to do about it. `run`: the argument
/// of `dlaunch collect`.
[[nodiscard]] std::string problems_in(const CollectReport& report, const std::string& run);

}  // namespace dlaunch
