#include "report/run_record.h"

#include <charconv>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "log/time_text.h"
#include "report/json_members.h"
#include "text/json_text.h"

namespace dlaunch {

namespace {

constexpr int kVersion = 1;

void write_process(JsonText& json, std::string_view name, const ProcessIdentity& process) {
  json.line(2).key(name).begin_object();
  json.key("pid").number(process.pid);
  json.key("start_ticks").number(static_cast<std::int64_t>(process.start_ticks));
  json.end_object();
}

ProcessIdentity read_process(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_object()) return {};
  return {static_cast<pid_t>(json_number(*found, "pid").value_or(0)),
          static_cast<std::uint64_t>(json_number(*found, "start_ticks").value_or(0))};
}

}  // namespace

std::string run_record_json(const RunRecord& record) {
  std::string out;
  JsonText json(out);
  const auto text = [&](std::string_view name, const std::string& value) {
    json.line(2).key(name);
    value.empty() ? json.null() : json.string(value);
  };
  json.begin_object();
  json.line(2).key("version").number(kVersion);
  text("run", record.run);
  text("name", record.name);
  text("job_file", record.job_file);
  text("folder", record.folder);
  text("host", record.host);
  text("boot_id", record.boot_id);
  write_process(json, "engine", record.engine);
  write_process(json, "front", record.front);
  json.line(2).key("user").number(record.user);
  text("started", time_text(record.started));
  json.line(2).key("stop_timeout_ms").number(record.stop_grace.count());
  if (!record.slurm_job.empty()) text("slurm_job", record.slurm_job);
  json.line(2).key("detached").boolean(record.detached);
  json.line(2).key("locked").boolean(record.locked);
  json.line(0).end_object();
  out += '\n';
  return out;
}

Result<RunRecord> parse_run_record(std::string_view json) {
  const auto wrong = [](const std::string& what) { return fail(exit_code::kUsage, what); };
  const auto parsed = parse_json_object(json);
  if (!parsed) return wrong("it is no JSON object");
  const nlohmann::json& object = *parsed;
  const auto version = json_number(object, "version");
  if (!version) return wrong("it has no version");
  if (*version != kVersion)
    return wrong("version " + std::to_string(*version) + " is not known to this dlaunch");
  RunRecord record;
  record.run = json_string(object, "run");
  record.name = json_string(object, "name");
  record.job_file = json_string(object, "job_file");
  record.folder = json_string(object, "folder");
  record.host = json_string(object, "host");
  record.boot_id = json_string(object, "boot_id");
  record.engine = read_process(object, "engine");
  record.front = read_process(object, "front");
  record.user = static_cast<std::uint32_t>(json_number(object, "user").value_or(0));
  record.stop_grace = Duration(json_number(object, "stop_timeout_ms").value_or(0));
  record.slurm_job = json_string(object, "slurm_job");
  record.detached = json_boolean(object, "detached");
  record.locked = json_boolean(object, "locked");
  const auto started = parse_time(json_string(object, "started"));
  if (!started) return wrong("started: " + started.error().message);
  record.started = *started;
  if (record.run.empty()) return wrong("it names no run");
  return record;
}

Result<WallTime> parse_time(std::string_view text) {
  using namespace std::chrono;
  int year_number = 0, month_number = 0, day_number = 0, hour = 0, minute = 0, second = 0, used = 0;
  const std::string whole(text);
  constexpr int kFields = 6;
  // NOLINTNEXTLINE(cert-err34-c): no field is longer than four digits
  if (std::sscanf(whole.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year_number, &month_number,
                  &day_number, &hour, &minute, &second, &used) != kFields)
    return fail(exit_code::kUsage, "no time in RFC 3339: \"" + whole + '"');
  std::int64_t fraction = 0;
  if (text.substr(static_cast<std::size_t>(used)).starts_with('.')) {
    std::int64_t unit = 100'000'000;
    for (std::size_t at = static_cast<std::size_t>(used) + 1;
         at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10)
      fraction += (text[at] - '0') * unit;
  }
  const year_month_day date(year(year_number), month(static_cast<unsigned>(month_number)),
                            day(static_cast<unsigned>(day_number)));
  if (!date.ok() || !text.ends_with('Z'))
    return fail(exit_code::kUsage, "no time in UTC: \"" + whole + '"');
  return WallTime(sys_days(date)) + hours(hour) + minutes(minute) + seconds(second) +
         nanoseconds(fraction);
}

}  // namespace dlaunch
