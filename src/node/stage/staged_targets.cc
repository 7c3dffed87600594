#include "node/stage/staged_targets.h"

#include <algorithm>
#include <string>
#include <vector>

#include <unistd.h>

#include "node/stage/stage_claims.h"
#include "node/stage/staged_place.h"
#include "node/sync/sync_record.h"
#include "sync/rules.h"
#include "text/strings.h"
#include "wire/value.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostAnswer = std::size_t{900}
                                    << 10;  // bytes, about: SideProcess takes 1 MiB

bool is_wanted(const std::string& target, const std::vector<std::string>& paths) {
  return paths.empty() || std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
           return sync::lies_in(target, path);
         });
}

std::string in_use(const std::vector<std::string>& users) {
  return "is in use by " + joined(users);
}

struct Wanted {
  std::string target;
  FoundRecord record;
};

StagedTarget clean(const Environment& env, const Wanted& wanted) {
  StageClaims claims(env);
  const auto other =
      claims.claim("dlaunch stage --clean, process " + std::to_string(::getpid()), {wanted.target});
  // Once the target is claimed, there are no new users, and the record does not change.
  StagedPlace place(env, wanted.record);
  StagedTarget& about = place.about();
  about.users = claims.users_of(wanted.target);
  if (other) {
    about.problem = "is being staged by " + other->by;
  } else if (!about.users.empty()) {
    about.problem = in_use(about.users);
  } else if (!claims.has_claimed()) {
    about.problem = "cannot tell whether a run uses it: ~/.cache/dlaunch is not writable";
    about.failed = true;
  } else if (place.is_staged()) {
    place.clean();
  }
  return std::move(about);
}

StagedTarget look(const Environment& env, const Wanted& wanted, const StageClaims& claims) {
  StagedPlace place(env, wanted.record);
  place.look();
  place.about().users = claims.users_of(wanted.target);
  return std::move(place.about());
}

std::size_t size_of(const StagedTarget& target) {
  constexpr std::size_t kRest = 200;
  return kRest + target.target.size() + target.source.size() + target.by.size() +
         target.problem.size() + joined(target.users).size();
}

}  // namespace

wire::StagedSeen see_staged(const Environment& env, const wire::SeeStaged& question) {
  wire::StagedSeen seen;
  std::vector<Wanted> all;
  for_each_record(env, [&](const FoundRecord& record) {
    const StagedPlace place(env, record);
    if (place.is_staged() && is_wanted(place.about().target, question.paths))
      all.push_back({place.about().target, record});
  });
  // A target that lies in another one comes first.
  std::sort(all.begin(), all.end(),
            [](const Wanted& a, const Wanted& b) { return a.target > b.target; });
  const StageClaims claims(env);
  std::size_t size = 0;
  for (const Wanted& wanted : all) {
    StagedTarget about = question.clean ? clean(env, wanted) : look(env, wanted, claims);
    const bool is_there = about.files > 0 || about.unfinished > 0 || !about.problem.empty();
    if (!is_there) continue;
    size += size_of(about);
    if (size > kMostAnswer) {
      seen.problem = "there are too many targets for one answer: name PATHs";
    } else {
      seen.targets.push_back(std::move(about));
    }
  }
  std::reverse(seen.targets.begin(), seen.targets.end());
  return seen;
}

void StagedTargets::begin(const wire::SeeStaged& question) {
  process_.begin([env = env_, question] { return wire::encode_value(see_staged(env, question)); },
                 std::chrono::milliseconds(question.limit_ms),
                 [this, question](const Result<std::string>& said) {
                   auto seen = said ? wire::decode_value<wire::StagedSeen>(*said) : std::nullopt;
                   if (!seen) {
                     const bool is_late = !said && said.error().exit_code == exit_code::kTimeLimit;
                     seen.emplace().problem =
                         is_late
                             ? "not finished within " + std::to_string(question.limit_ms / 1000) +
                                   " s: a disk there is slow or hangs"
                         : said ? "the checking process ended without an answer"
                                : said.error().message;
                   }
                   report_(*seen);
                 });
}

}  // namespace dlaunch
