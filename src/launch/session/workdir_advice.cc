#include "launch/session/workdir_advice.h"

#include <chrono>

#include <sys/stat.h>

#include "launch/sync/workdir_settings.h"
#include "text/size_text.h"

namespace dlaunch {

namespace {

constexpr Duration kCounting = std::chrono::seconds(2);
constexpr const char* kIndent = "\n         ";
constexpr const char* kShared = "a folder that all nodes share";

bool is_in_workdir_here(const std::string& workdir, const std::string& path) {
  const std::string whole = path.starts_with('/') ? path : workdir + '/' + path;
  struct stat info {};
  return whole.starts_with(workdir + '/') && ::lstat(whole.c_str(), &info) == 0;
}

}  // namespace

std::string workdir_advice(const MissingPrerequisites& missing, const JobSpec& spec,
                           const PlanContext& context, const LaunchPlan& plan) {
  const auto is_left_out = [&](const std::string& path) {
    return is_in_workdir_here(plan.workdir, path);
  };
  if (plan.sync && missing.any_of(is_left_out))
    return std::string(kIndent) + "sync: true copies nothing that a .gitignore file names";
  struct stat here {};
  if (syncs_workdir(spec) || !missing.lacks_workdir() || ::stat(plan.workdir.c_str(), &here) != 0)
    return {};
  const auto extent = extent_within(kCounting, workdir_settings(spec, context, plan.workdir));
  if (!extent) {
    const std::string& why = extent.error().message;
    return std::string(kIndent) + "try: " + kShared +
           "; --sync cannot copy it there: " + why.substr(0, why.find('\n'));
  }
  return std::string(kIndent) + "try: --sync, which copies it there first" +
         (*extent ? " (" + files_text((*extent)->files, (*extent)->bytes) + ')' : "") + ", or " +
         kShared;
}

}  // namespace dlaunch
