#include "runs/run_view.h"

#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include "model/rank_list.h"
#include "model/report.h"
#include "os/clock.h"
#include "os/proc_file.h"
#include "os/unique_fd.h"
#include "runs/run_record.h"
#include "text/duration_text.h"
#include "text/number.h"
#include "text/plain_text.h"

namespace dlaunch {

namespace {

// A plan of 100,000 ranks takes about 50 MB.
constexpr std::size_t kMostJson = std::size_t{256} << 20;

/// Regular files only: a FIFO of that name would block.
UniqueFd open_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (fd && (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))) fd.reset();
  return fd;
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

/// Fills in what run.json and its locks show; false: there is no run.json.
Result<bool> read_record(const std::string& path, RunWitness& witness) {
  const std::string file = path + "/run.json";
  if (!exists(file)) {
    if (errno != ENOENT) return tl::unexpected(cannot_read(path, errno));
    return false;
  }
  const UniqueFd fd = open_file(file);
  if (!fd) return tl::unexpected(cannot_read(file, errno));
  auto record = parse_run_record(read_proc_file(file, kMostJson));
  if (!record) return fail(exit_code::kUsage, file + ": " + record.error().message);
  witness.record = std::move(*record);
  witness.alive_lock = look_at_byte_lock(fd.get(), kAliveByte);
  witness.stopping_lock = look_at_byte_lock(fd.get(), kStoppingByte);
  witness.engine_exists = is_here(witness) && open_process(witness.record->engine).valid();
  return true;
}

Status read_ending(const std::string& path, RunWitness& witness) {
  const std::string file = path + "/summary.json";
  if (!exists(file)) return {};
  if (!open_file(file)) return tl::unexpected(cannot_read(file, errno));
  auto ending = parse_summary(read_proc_file(file, kMostJson));
  if (!ending) return fail(exit_code::kUsage, file + ": " + ending.error().message);
  witness.ending = std::move(*ending);
  return {};
}

std::optional<nlohmann::json> read_plan(const std::string& path) {
  const std::string file = path + "/plan.json";
  if (!open_file(file)) return std::nullopt;
  return parse_json_object(read_proc_file(file, kMostJson));
}

std::string last_part(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

void fill_in(RunView& view) {
  const auto& record = view.witness.record;
  const auto& ending = view.witness.ending;
  if (record) view.name = record->name;
  if (ending) {
    if (view.name.empty()) view.name = ending->name;
    if (ending->ranks > 0) view.ranks = ending->ranks;
    view.duration = ending->elapsed;
    return;
  }
  if (record && is_live(view.state)) view.duration = wall_now() - record->started;
}

/// Nodes other than the launcher's have a folder of their own for output (report/plan_json.h).
std::vector<LeftOutput> outputs_on_nodes(const nlohmann::json& plan) {
  std::vector<LeftOutput> found;
  const auto nodes = plan.find("nodes");
  if (nodes == plan.end() || !nodes->is_array()) return found;
  for (const auto& node : *nodes) {
    LeftOutput one;
    if (!node.is_object()) continue;
    one.node = plain_line(json_string(node, "name"));
    one.folder = plain_line(json_string(node, "output_folder"));
    const auto ranks = node.find("ranks");
    if (one.folder.empty() || ranks == node.end() || !ranks->is_array()) continue;
    for (const auto& rank : *ranks) {
      if (rank.is_number_unsigned()) one.ranks.emplace_back(rank.get<std::uint32_t>());
    }
    if (!one.ranks.empty()) found.push_back(std::move(one));
  }
  return found;
}

/// True if there is no summary, or if a front wrote it because its engine was killed.
bool has_lost_output(const RunView& view) {
  const auto& ending = view.witness.ending;
  return !ending || ending->cause == name_of(Cause::internal);
}

void add_plan(RunView& view) {
  const auto plan = read_plan(view.path);
  if (!plan) return;
  if (view.state == RunState::lost || view.witness.ending) view.left = outputs_on_nodes(*plan);
  const auto ranks = plan->find("ranks");
  if (ranks != plan->end() && ranks->is_array())
    view.ranks = static_cast<std::uint32_t>(ranks->size());
  if (view.name.empty()) view.name = json_string(*plan, "name");
}

}  // namespace

bool is_here(const RunWitness& witness) {
  if (!witness.record || witness.record->boot_id != witness.boot_id) return false;
  return !witness.boot_id.empty() || witness.record->host == witness.host;
}

RunState state_of_run(const RunWitness& witness) {
  if (witness.ending) {
    if (witness.ending->exit_code == 0) return RunState::done;
    return witness.ending->cause == "cancelled" ? RunState::stopped : RunState::failed;
  }
  if (witness.alive_lock == LockSeen::held)
    return witness.stopping_lock == LockSeen::held ? RunState::stopping : RunState::running;
  if (!witness.record) return RunState::lost;
  const bool same_host = witness.record->host == witness.host;
  if (!is_here(witness) && !same_host) return RunState::unknown;
  return is_here(witness) && witness.engine_exists ? RunState::running : RunState::lost;
}

const char* name_of(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::stopping:
      return "stopping";
    case RunState::done:
      return "done";
    case RunState::failed:
      return "failed";
    case RunState::stopped:
      return "stopped";
    case RunState::lost:
      return "lost";
    case RunState::unknown:
      return "unknown";
  }
  return "";
}

Error cannot_read(const std::string& path, int error) {
  Error said{exit_code::kUsage, "cannot read " + plain_line(path) + ": " + errno_text(error)};
  if (error != EACCES && error != EPERM) return said;
  said.exit_code = kNoPermission;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0)
    said.message += " (it belongs to user " + std::to_string(info.st_uid) + ')';
  return said;
}

bool is_run_id(std::string_view name) {
  constexpr std::string_view kShape = "dddddddd-dddddd-xxx";
  if (name.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool digit = name[i] >= '0' && name[i] <= '9';
    const bool letter = name[i] >= 'a' && name[i] <= 'z';
    const bool fits = kShape[i] == 'd'   ? digit
                      : kShape[i] == 'x' ? digit || letter
                                         : name[i] == '-';
    if (!fits) return false;
  }
  return true;
}

Result<RunView> read_run(const std::string& path) {
  auto view = read_run_state(path);
  if (view && has_lost_output(*view)) add_plan(*view);
  return view;
}

Result<RunView> read_run_state(const std::string& path) {
  RunView view;
  view.path = path;
  view.witness.host = own_hostname();
  view.witness.boot_id = boot_id();
  // In this order, see RunWitness.
  const auto has_record = read_record(path, view.witness);
  if (!has_record) return tl::unexpected(has_record.error());
  if (const Status read = read_ending(path, view.witness); !read)
    return tl::unexpected(read.error());
  if (!*has_record && !view.witness.ending) {
    return fail(exit_code::kUsage, path + " has no run.json: it is not the folder of a run");
  }
  const std::string named = *has_record ? view.witness.record->run : view.witness.ending->run;
  view.id = is_run_id(named) ? named : plain_line(last_part(path));
  view.state = state_of_run(view.witness);
  fill_in(view);
  return view;
}

std::vector<std::string> rank_labels(const std::string& run_path) {
  const auto plan = read_plan(run_path);
  if (!plan || !plan->contains("ranks") || !(*plan)["ranks"].is_array()) return {};
  std::vector<std::string> nodes;
  if (const auto found = plan->find("nodes"); found != plan->end() && found->is_array()) {
    for (const auto& node : *found)
      nodes.push_back(node.is_object() ? plain_line(json_string(node, "name")) : "");
  }
  std::vector<std::string> labels;
  for (const auto& rank : (*plan)["ranks"]) {
    const auto node = rank.is_object() ? json_number(rank, "node") : std::nullopt;
    const bool known = node && *node >= 0 && static_cast<std::size_t>(*node) < nodes.size();
    labels.push_back((known ? nodes[static_cast<std::size_t>(*node)] : "?") + ':' +
                     std::to_string(labels.size()));
  }
  return labels;
}

std::vector<std::string> variables_of(const std::string& run_path, const std::string& key) {
  std::vector<std::string> names;
  const auto plan = read_plan(run_path);
  if (!plan || !plan->contains(key) || !(*plan)[key].is_array()) return names;
  for (const auto& name : (*plan)[key]) {
    if (name.is_string()) names.push_back(plain_line(name.get<std::string>()));
  }
  return names;
}

std::vector<std::uint32_t> attempts_of(const std::string& run_path) {
  constexpr std::string_view kPrefix = "attempt-";
  std::vector<std::uint32_t> attempts;
  DIR* directory = ::opendir(run_path.c_str());
  if (directory == nullptr) return attempts;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name(entry->d_name);
    if (!name.starts_with(kPrefix)) continue;
    const auto number = number_of<std::uint32_t>(name.substr(kPrefix.size()));
    if (number) attempts.push_back(*number);
  }
  ::closedir(directory);
  std::sort(attempts.begin(), attempts.end());
  return attempts;
}

std::string left_text(const std::vector<LeftOutput>& left) {
  constexpr std::size_t kMost = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(left.size(), kMost); ++i) {
    text += "  " + left[i].node + ':' + left[i].folder + "  rank" +
            (left[i].ranks.size() == 1 ? " " : "s ") + rank_ranges(left[i].ranks) + '\n';
  }
  if (left.size() > kMost)
    text += "  and " + std::to_string(left.size() - kMost) + " more nodes: dlaunch runs --json\n";
  return text;
}

std::string state_text(const RunView& view) {
  if (view.witness.ending) return ending_text(*view.witness.ending);
  switch (view.state) {
    case RunState::running:
    case RunState::stopping:
      return std::string(name_of(view.state)) +
             (view.duration ? " since " + duration_text(*view.duration) : "");
    case RunState::unknown:
      return "was started on " + plain_line(view.witness.record->host) +
             "; its state is not known on this machine";
    default: {
      const RunWitness& seen = view.witness;
      const bool rebooted = seen.record && !seen.boot_id.empty() && !seen.record->boot_id.empty() &&
                            seen.record->boot_id != seen.boot_id;
      return rebooted ? "lost: its machine was rebooted" : "lost: its launcher was killed";
    }
  }
}

}  // namespace dlaunch
