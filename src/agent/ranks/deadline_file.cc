#include "agent/ranks/deadline_file.h"

#include <cstdio>
#include <string>

#include "agent/ranks/start_files.h"

namespace dlaunch {

void write_deadline(const wire::Deadline& deadline) {
  const auto at = std::chrono::floor<std::chrono::seconds>(deadline.at.time_since_epoch());
  const std::string unfinished = deadline.path + ".new";
  if (write_start_files({{unfinished, std::to_string(at.count()) + '\n'}}))
    std::rename(unfinished.c_str(), deadline.path.c_str());
}

}  // namespace dlaunch
