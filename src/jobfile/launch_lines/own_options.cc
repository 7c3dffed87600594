#include "jobfile/launch_lines/own_options.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "jobfile/scalar.h"
#include "model/signal_names.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

/// Keys that have their own option.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kOptionOfKey{
    {{"hosts", "--hosts"},
     {"hostfile", "--hostfile"},
     {"name", "--name"},
     {"restart.max", "--restarts"},
     {"gpus", "--gpus"},
     {"include", "--include"},
     {"exclude", "--exclude"}}};

std::string_view option_of_key(std::string_view key) {
  for (const auto& [known, option] : kOptionOfKey)
    if (known == key) return option;
  return {};
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (comma > 0) parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

/// Open MPI's "a,a,b:2" as "a:2,b:2": each repetition of a name adds a slot.
std::string with_slots(std::string_view list) {
  std::vector<std::pair<std::string, int>> hosts;
  for (const std::string& host : parts_of(list)) {
    const auto known = std::find_if(hosts.begin(), hosts.end(),
                                    [&](const auto& one) { return one.first == host; });
    if (known == hosts.end()) {
      hosts.emplace_back(host, 1);
    } else {
      ++known->second;
    }
  }
  const bool has_slots =
      std::any_of(hosts.begin(), hosts.end(), [](const auto& one) { return one.second > 1; });
  return joined(hosts, ",", [&](const auto& one) {
    const bool is_counted = one.first.find(':') != std::string::npos;
    return has_slots && !is_counted ? one.first + ':' + std::to_string(one.second) : one.first;
  });
}

std::optional<std::int64_t> count_of(const std::string& text) {
  const auto number = parse_integer(text);
  return number && *number > 0 ? number : std::nullopt;
}

}  // namespace

void OwnOptions::leave_out(const std::string& typed, std::string_view why) {
  left_out.push_back({typed, std::string(why)});
}

void OwnOptions::pass(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) {
    passed.push_back(text);
  } else {
    set("env." + text.substr(0, equals), text.substr(equals + 1));
  }
}

void OwnOptions::map_by(const std::string& typed, const std::string& mapping) {
  const std::string_view text = mapping;
  if (text == "slot" || text == "core") return;
  if (text.starts_with("ppr:") && text.ends_with(":node")) {
    per_node = text.substr(4, text.size() - 4 - 5);
    return;
  }
  const bool is_by_node = text == "node" || text.starts_with("node:");
  if (is_by_node) set("placement", "spread");
  leave_out(typed, is_by_node
                       ? "placement=spread spreads ranks over the nodes, but numbers them node by "
                         "node"
                       : "not needed: hosts are filled in order, and ranks get cores of their own");
}

void OwnOptions::add(const LauncherOption& option, const std::string& typed,
                     std::vector<std::string> values) {
  const std::string value = values.empty() ? std::string() : values.front();
  const std::string text(option.text);
  switch (option.becomes) {
    case Becomes::nothing:
      // "-K0", "--kill-on-bad-exit=0"
      if (option.values == 0 && value == "0") leave_out(typed, "always on in dlaunch");
      return;
    case Becomes::oversubscribe:  // -n may exceed the number of cores
      return;
    case Becomes::key:
    case Becomes::image:
      return set(text, value);
    case Becomes::variable:
      if (!values.empty() && value == option.unset) return;
      return set("env." + text, values.empty() ? "true" : value);
    case Becomes::total:
      total = value;
      return;
    case Becomes::per_node:
      per_node = value;
      return;
    case Becomes::one_per_node:
      per_node = "1";
      return;
    case Becomes::nodes:
      nodes = value;
      std::replace(nodes.begin(), nodes.end(), '-', ':');
      return;
    case Becomes::node_ranks: {
      const auto x = value.find('x');
      nodes = x == std::string::npos ? "1" : value.substr(0, x);
      per_node = x == std::string::npos ? value : value.substr(x + 1);
      return;
    }
    case Becomes::host_list:
      return set("hosts", with_slots(value));
    case Becomes::pass:
      return pass(value);
    case Becomes::pass_list:
      for (const std::string& name : parts_of(value)) pass(name);
      return;
    case Becomes::pair:
      return pass(values.size() > 1 ? value + '=' + values[1] : value);
    case Becomes::mca:
      if (places_processes(value)) return leave_out(typed, "not needed: dlaunch starts the ranks");
      return set("env.OMPI_MCA_" + value, values[1]);
    case Becomes::bind:
      if (value == "none" || value == "no") return set("binding.cpus", "none");
      return leave_out(typed,
                       "not needed: ranks get cores of their own by default; to leave them free: "
                       "--set binding.cpus=none");
    case Becomes::map_by:
      return map_by(typed, value);
    case Becomes::by_node:
      return map_by(typed, "node");
    case Becomes::one_machine:
      one_machine = typed;
      return;
    case Becomes::seconds:
      // A duration in dlaunch's own form, "5m", stays unchanged.
      return set("timeouts.run", count_of(value) ? value + 's' : value == "0" ? "none" : value);
    case Becomes::slurm_time:
      return set("timeouts.run", limit_of_slurm(value));
    case Becomes::export_list:
      for (const std::string& one : parts_of(value)) {
        if (one == "NONE") leave_out(typed, "ranks on this machine inherit the environment");
        if (one != "ALL" && one != "NONE") pass(one);
      }
      return;
    case Becomes::module:
      is_module = true;
      script = value;
      return;
    case Becomes::script:
      script = value;
      return;
    case Becomes::gpus_per_task:
      if (value.substr(value.rfind(':') + 1) == "1") return set("binding.gpus", "one-per-process");
      break;
    case Becomes::log_dir:
      advised.push_back({"logs.dir", value});
      break;
    case Becomes::mounts:
      advised.push_back({"container.mounts", '[' + value + ']'});
      break;
    case Becomes::signal:
      signal(value);
      break;
    case Becomes::file:
      file = value;
      break;
    case Becomes::program:
      arguments = {"--" + std::string(option.name), value};
      break;
    case Becomes::advice:
    case Becomes::shows:
      break;
    case Becomes::queue:
      return queue(option, value);
  }
  leave_out(typed, option.text);
}

/// "[{R|B}:]SIGNAL[@SECONDS]" of sbatch(1). Any other text has no keys.
void OwnOptions::signal(std::string_view text) {
  text.remove_prefix(text.find(':') + 1);  // npos + 1 is 0
  const auto at = std::min(text.find('@'), text.size());
  const std::string seconds(at == text.size() ? "60" : text.substr(at + 1));
  const auto given = parse_integer(text.substr(0, at));
  const bool is_number = given && *given > 0 && *given <= SIGRTMAX;
  const auto number = signal_number(is_number ? signal_name(static_cast<int>(*given))
                                              : std::string(text.substr(0, at)));
  if (!number || !count_of(seconds)) return;
  constexpr std::size_t kPrefix = 3;  // of "SIGUSR1"
  advised.push_back({"stop_signal", signal_name(*number).substr(kPrefix)});
  advised.push_back({"timeouts.stop", seconds + 's'});
}

void OwnOptions::queue(const LauncherOption& option, const std::string& value) {
  if (option.text.empty()) {
    const std::string name = "--sbatch=--" + std::string(option.name);
    submit.push_back(value.empty() ? name : name + '=' + value);
  } else {
    submit.insert(submit.end(), {std::string(option.text), value});
  }
}

void OwnOptions::settle() {
  const bool has_hosts = std::any_of(settings.begin(), settings.end(), [](const auto& one) {
    return one.key == "hosts" || one.key == "hostfile";
  });
  if (!one_machine.empty() && (has_hosts || (!nodes.empty() && nodes != "1"))) {
    leave_out(one_machine, "means this machine alone, but the line names others");
  } else if (!one_machine.empty()) {
    nodes = "1";
  }
  if (total.empty() || per_node.empty()) return;
  const auto all = count_of(total);
  const auto each = count_of(per_node);
  const bool divides = all && each && *all % *each == 0;
  if (!divides || (!nodes.empty() && nodes != std::to_string(*all / *each))) {
    leave_out(per_node + " on each node", "does not match " + total + " processes in all" +
                                              (nodes.empty() ? "" : " on " + nodes + " nodes"));
    per_node.clear();
    return;
  }
  nodes = std::to_string(*all / *each);
  total.clear();
}

std::vector<std::string> OwnOptions::words() const {
  std::vector<std::string> words = submit;
  const auto add_option = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(name);
    words.push_back(value);
  };
  add_option("-n", total);
  add_option("--nnodes", nodes);
  add_option("--nproc-per-node", per_node);
  for (const OwnSetting& one : settings) {
    const std::string_view option = option_of_key(one.key);
    if (!option.empty()) {
      add_option(option, one.value);
    } else if (one.key.starts_with("env.")) {
      add_option("--env", one.key.substr(4) + '=' + one.value);
    } else {
      add_option("--set", one.key + '=' + one.value);
    }
  }
  for (const OwnSetting& one : advised) add_option("--set", one.key + '=' + one.value);
  if (!passed.empty()) add_option("--set", "env_pass=[" + joined(passed, ", ") + ']');
  return words;
}

}  // namespace dlaunch::jobfile
