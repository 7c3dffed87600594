#include "node/stage/collect_service.h"

#include <cerrno>
#include <utility>

#include <sys/stat.h>

#include "text/strings.h"

namespace dlaunch {

CollectService::CollectService(EventLoop& loop, const Environment& env, Send send)
    : env_(env),
      send_(std::move(send)),
      run_(loop, {.send =
                      [this](NodeId, wire::StageOrder order) {
                        send_(wire::widened<wire::CollectAnswer>(std::move(order)));
                      },
                  .done = [this](const Result<StageReport>& report) { done(report); },
                  .show = [](const std::string&) {},
                  .note = [](const std::string&) {}}) {}

void CollectService::on(const wire::CollectBegin& begin) {
  answer_ = {};
  answer_.id = begin.id;
  StageRunSettings settings;
  settings.collects = true;
  if (begin.most_bytes > 0) settings.most_bytes = begin.most_bytes;
  settings.nodes.push_back({kLauncher, "the launcher's machine", false});
  for (std::uint32_t i = 0; i < begin.items.size(); ++i) {
    StageItem item = begin.items[i];
    if (item.from.starts_with("~/"))
      item.from.replace(0, 1, find_variable(env_, "HOME").value_or(""));
    struct stat info {};
    if (::stat(item.from.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
      answer_.missing.push_back(i);
      continue;
    }
    if (S_ISREG(info.st_mode) && item.to.ends_with('/')) item.to += file_name(item.from);
    settings.items.push_back(std::move(item));
  }
  if (settings.items.empty()) return send_(answer_);
  run_.begin(std::move(settings));
}

void CollectService::done(const Result<StageReport>& report) {
  if (report) {
    answer_.files = report->extent.files;
    answer_.bytes = report->extent.bytes;
    answer_.special = report->special;
  } else {
    answer_.problem = report.error().message;
  }
  send_(answer_);
}

}  // namespace dlaunch
