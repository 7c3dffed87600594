#include "jobfile/field_write.h"

#include <tuple>

namespace dlaunch::jobfile {

namespace {

void begin_role(JobSpec& job, std::string_view name, const Value& value) {
  RoleSpec role;
  role.name = name;
  if (const auto* count = std::get_if<std::int64_t>(&value)) role.count = static_cast<int>(*count);
  job.roles.push_back(std::move(role));
}
}  // namespace

void begin_chief(JobSpec& job, const Value& value) {
  begin_role(job, "chief", value);
}
void begin_worker(JobSpec& job, const Value& value) {
  begin_role(job, "worker", value);
}
void begin_ps(JobSpec& job, const Value& value) {
  begin_role(job, "ps", value);
}
void begin_evaluator(JobSpec& job, const Value& value) {
  begin_role(job, "evaluator", value);
}

void begin_host(JobSpec& job, const Value& value) {
  if (is_word(value)) {
    job.hosts.from_scheduler = true;
  } else {
    job.hosts.hosts.emplace_back();
  }
}

void put_backoff(JobSpec& job, const Value& value) {
  std::tie(job.restart.backoff_min, job.restart.backoff_max) =
      std::get<std::pair<Duration, Duration>>(value);
}

void put_preemption(JobSpec& job, const Value& value) {
  const auto& command = std::get<Command>(value);
  job.preemption_command =
      command.is_shell ? std::vector<std::string>{"/bin/sh", "-c", command.line} : command.argv;
}

void put_console(JobSpec& job, const Value& value) {
  if (is_word(value)) {
    job.logs.console = static_cast<Logs::Console>(word_value(value));
    return;
  }
  job.logs.console = Logs::Console::ranks;
  assign(job.logs.console_ranks, value);
}

}  // namespace dlaunch::jobfile
