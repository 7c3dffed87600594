#include "report/verdict.h"

#include "text/duration_text.h"
#include "text/strings.h"

namespace dlaunch {

Verdict judge(const StacksReply& first, const StacksReply& second,
              std::chrono::milliseconds silence) {
  Verdict verdict;
  const std::string time = duration_text(silence);
  if (second.ranks.empty()) {
    verdict.headline = "no rank has moved for " + time + ", and where they stand is not known";
    return verdict;
  }
  const bool same = first.ranks == second.ranks;
  verdict.kind = same ? Verdict::Kind::hang : Verdict::Kind::working;
  verdict.headline = same ? "no rank has moved for " + time
                          : "nothing has been printed for " + time + ", but ranks work";
  return verdict;
}

}  // namespace dlaunch
