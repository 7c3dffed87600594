#include "model/report.h"

namespace dlaunch {

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::success:
      return "success";
    case Cause::exit_code:
      return "exit-code";
    case Cause::signal:
      return "signal";
    case Cause::out_of_memory:
      return "out-of-memory";
    case Cause::cannot_execute:
      return "cannot-execute";
    case Cause::node_lost:
      return "node-lost";
    case Cause::time_limit:
      return "time-limit";
    case Cause::cancelled:
      return "cancelled";
    case Cause::plan:
      return "plan";
    case Cause::port_taken:
      return "port-taken";
    case Cause::starter:
      return "mpirun";  // the only starter (docs/reference/run-folder.md)
    case Cause::mpi:
      return "mpi";
    case Cause::stragglers:
      return "stragglers";
    case Cause::hang:
      return "hang";
    case Cause::preempted:
      return "preempted";
    case Cause::not_collected:
      return "not-collected";
    case Cause::internal:
      return "internal";
  }
  return "";
}

const char* name_of(RankEnd::How how) {
  switch (how) {
    case RankEnd::How::not_started:
      return "not-started";
    case RankEnd::How::cannot_start:
      return "cannot-start";
    case RankEnd::How::exited:
      return "exited";
    case RankEnd::How::stopped:
      return "stopped";
    case RankEnd::How::killed:
      return "killed";
    case RankEnd::How::lost:
      return "lost";
  }
  return "";
}

}  // namespace dlaunch
