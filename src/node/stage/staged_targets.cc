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

void clean(const Environment& env, StagedPlace& place) {
  StageClaims claims(env);
  StagedTarget& about = place.about();
  const auto other =
      claims.claim("dlaunch stage --clean, process " + std::to_string(::getpid()), {about.target});
  // Once it is claimed, there are no new users.
  about.users = claims.users_of(about.target);
  if (other) {
    about.problem = "is being staged by " + other->by;
  } else if (!about.users.empty()) {
    about.problem = in_use(about.users);
  } else {
    place.clean();
  }
}

std::size_t size_of(const StagedTarget& target) {
  constexpr std::size_t kRest = 200;
  return kRest + target.target.size() + target.source.size() + target.by.size() +
         target.problem.size() + joined(target.users).size();
}

}  // namespace

wire::StagedSeen see_staged(const Environment& env, const wire::SeeStaged& question) {
  wire::StagedSeen seen;
  std::vector<StagedPlace> places;
  for_each_record(env, [&](const FoundRecord& record) {
    StagedPlace place(env, record);
    if (place.is_staged() && is_wanted(place.about().target, question.paths))
      places.push_back(std::move(place));
  });
  // What lies in another target goes first.
  std::sort(places.begin(), places.end(), [](const StagedPlace& a, const StagedPlace& b) {
    return a.about().target > b.about().target;
  });
  const StageClaims claims(env);
  std::size_t size = 0;
  for (StagedPlace& place : places) {
    if (question.clean) {
      clean(env, place);
    } else {
      place.look();
      place.about().users = claims.users_of(place.about().target);
    }
    StagedTarget& about = place.about();
    const bool is_there = about.files > 0 || about.unfinished > 0 || !about.problem.empty();
    if (!is_there) continue;
    size += size_of(about);
    if (size > kMostAnswer) {
      seen.problem = "there is more than can be told at once: name PATHs";
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
                         : said ? "the process that looked ended without an answer"
                                : said.error().message;
                   }
                   report_(*seen);
                 });
}

}  // namespace dlaunch
