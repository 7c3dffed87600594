#include "runs/run_record.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "model/time.h"
#include "os/files.h"
#include "text/json_text.h"
#include "text/strings.h"

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

constexpr mode_t kFileMode = 0600;

/// Locks the file and writes the record. 0 or errno.
int fill(int file, RunRecord& record) {
  record.locked = set_byte_lock(file, kAliveByte, true);
  const std::string text = run_record_json(record);
  const ssize_t written = ::write(file, text.data(), text.size());
  if (written < 0) return errno;
  // The file is short: a partial write means that the disk is full.
  return static_cast<std::size_t>(written) == text.size() ? 0 : ENOSPC;
}

/// The depth is limited because the code that reads or writes the parsed value recurses.
bool is_too_deep(std::string_view json) {
  constexpr int kMostDepth = 64;
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (in_string && c == '\\') {
      ++at;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      continue;
    } else if (c == '{' || c == '[') {
      if (++depth > kMostDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

std::optional<nlohmann::json> parse_json_object(std::string_view text) {
  if (is_too_deep(text)) return std::nullopt;
  nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  return object;
}

std::string json_string(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> json_number(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

bool json_boolean(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string run_record_json(const RunRecord& record) {
  std::string out;
  JsonText json(out);
  const auto text = [&](std::string_view name, const std::string& value) {
    json.line(2).key(name).string_or_null(value);
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
  if (!parsed) return wrong("it is not a JSON object");
  const nlohmann::json& object = *parsed;
  const auto version = json_number(object, "version");
  if (!version) return wrong("it has no version");
  if (*version != kVersion)
    return wrong("this dlaunch does not know version " + std::to_string(*version));
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
  if (record.run.empty()) return wrong("it does not name a run");
  return record;
}

Result<RunPresence> RunPresence::announce(const RunDirectory& folder, RunRecord record) {
  const std::string path = folder.path() + "/run.json";
  UniqueFd file = open_unnamed_file(folder.path(), kFileMode);
  if (file && fill(file.get(), record) == 0 && give_name(file, path) == 0)
    return RunPresence(std::move(file));
  // A file system without unnamed files gets a temporary name. The lock survives the renaming: it
  // belongs to the open file.
  const std::string temporary = path + ".tmp";
  file.reset(
      ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!file) return fail_errno(exit_code::kInternal, "cannot create " + temporary, errno);
  int error = fill(file.get(), record);
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return RunPresence(std::move(file));
  ::unlink(temporary.c_str());
  return fail_errno(exit_code::kInternal, "cannot write " + path, error);
}

void RunPresence::set_stopping(bool stopping) {
  set_byte_lock(file_.get(), kStoppingByte, stopping);
}

}  // namespace dlaunch
