#include "jobfile/launchers/node_list.h"

#include <algorithm>

#include "jobfile/hostlist.h"
#include "jobfile/scheduler_hosts.h"
#include "jobfile/slurm_allocation.h"
#include "model/ip_address.h"

namespace dlaunch::launchers {

namespace {

tl::unexpected<Error> wrong(std::string message) {
  return fail(exit_code::kPreflight, std::move(message));
}

Result<std::string> content_of(std::string_view variable, const std::string& path,
                               const WorldInput& input) {
  auto text = input.read_file(path);
  if (text) return text;
  return wrong(std::string(variable) + ": " + text.error().message +
               "\n         if only the first node has this file: --master-addr \"$(head -n 1 $" +
               std::string(variable) + ")\"");
}

Result<std::optional<NodeList>> nodes_of_jsrun(const WorldInput& input) {
  constexpr std::string_view kRankfile = "LSB_DJOB_RANKFILE";
  const auto path = find_variable(input.environment, kRankfile);
  if (!path || path->empty()) return std::optional<NodeList>();
  const auto text = content_of(kRankfile, *path, input);
  if (!text) return tl::unexpected(text.error());
  NodeList list{std::string(kRankfile), {}};
  std::vector<std::string> lines = lines_of(*text);
  if (!lines.empty()) lines.erase(lines.begin());
  for (std::string& line : lines) {
    const bool known = std::any_of(list.hosts.begin(), list.hosts.end(),
                                   [&](const WorldHost& host) { return host.name == line; });
    if (!known) list.hosts.push_back({std::move(line), 0});
  }
  if (list.hosts.empty()) return std::optional<NodeList>();
  return std::optional(std::move(list));
}

void take_slots_of_slurm(const Environment& env, NodeList& list) {
  const auto counts = jobfile::read_repeated_counts(
      find_variable(env, "SLURM_TASKS_PER_NODE").value_or(""), jobfile::kMostHosts);
  if (!counts || counts->size() != list.hosts.size()) return;
  for (std::size_t i = 0; i < counts->size(); ++i)
    list.hosts[i].ranks = static_cast<std::uint32_t>((*counts)[i]);
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, std::min(end, text.substr(0, end).find('#')));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos) {
      line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
      lines.emplace_back(line);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<std::optional<NodeList>> own_nodes(const Environment& env) {
  const auto text = find_variable(env, kOwnHosts);
  if (!text || text->empty()) return std::optional<NodeList>();
  const auto entries = jobfile::expand_hostlist(*text, kOwnHosts);
  if (!entries) return wrong(entries.error().message);
  NodeList list{std::string(kOwnHosts), {}};
  for (const jobfile::HostEntry& entry : *entries)
    list.hosts.push_back({entry.name, static_cast<std::uint32_t>(entry.slots)});
  return std::optional(std::move(list));
}

Result<std::optional<NodeList>> scheduler_nodes(Launcher launcher, const WorldInput& input) {
  if (launcher == Launcher::jsrun) return nodes_of_jsrun(input);
  const auto variable = jobfile::find_scheduler_hosts(input.environment);
  if (!variable) return std::optional<NodeList>();
  std::string text = variable->value;
  if (variable->is_file) {
    auto content = content_of(variable->name, variable->value, input);
    if (!content) return tl::unexpected(content.error());
    text = std::move(*content);
  }
  const auto hosts = jobfile::read_scheduler_hosts(*variable, text);
  if (!hosts) return wrong(hosts.error().message);
  NodeList list{std::string(variable->name), {}};
  for (const HostSpec& host : *hosts)
    list.hosts.push_back({host.name, static_cast<std::uint32_t>(std::max(host.slots, 0))});
  if (variable->name == "SLURM_JOB_NODELIST") take_slots_of_slurm(input.environment, list);
  return std::optional(std::move(list));
}

bool is_own_host(std::string_view name, std::string_view hostname,
                 const std::vector<std::string>& addresses) {
  if (const auto ip = parse_ip(name)) {
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const std::string& own) { return parse_ip(own) == ip; });
  }
  if (name == hostname) return true;
  const auto has_domain = [](std::string_view text) { return text.find('.') != text.npos; };
  if (has_domain(name) && has_domain(hostname)) return false;
  return name.substr(0, name.find('.')) == hostname.substr(0, hostname.find('.'));
}

}  // namespace dlaunch::launchers
