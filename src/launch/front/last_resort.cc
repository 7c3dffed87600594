#include "launch/front/last_resort.h"

namespace dlaunch {

LastResort::Step LastResort::second() {
  Step step;
  if (cancels_ == 0) return step;
  step.ask = true;
  ++unanswered_;
  step.tell = unanswered_ >= kTellAfter && !told_;
  told_ = told_ || step.tell;
  if (cancels_ == 1) return step;
  ++since_second_;
  step.kill = since_second_ >= kKillAfter;
  step.leave = since_second_ >= kLeaveAfter && unanswered_ >= kLeaveAfter;
  return step;
}

}  // namespace dlaunch
