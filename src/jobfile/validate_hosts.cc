#include "jobfile/validate.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jobfile/field_table.h"
#include "jobfile/hostlist.h"
#include "jobfile/resolve_hosts.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::array<std::string_view, 4> kPlaceholders{"{host}", "{user}", "{port}", "{command}"};

/// Whether the words of `list`, separated by spaces, include this one.
bool is_listed(const std::string& word, std::string_view list) {
  return (" " + std::string(list) + " ").find(" " + word + " ") != std::string::npos;
}

class HostValidator : public Validator {
 public:
  using Validator::Validator;

  void check_list();
  void check_connect();

 private:
  [[nodiscard]] const GivenKey* good(const std::string& path) const {
    const GivenKey* key = find(path);
    return key != nullptr && key->good ? key : nullptr;
  }
  /// An item of the list, in any of its forms.
  [[nodiscard]] const GivenKey* item(std::size_t index) const {
    const std::string path = "hosts[" + std::to_string(index) + "]";
    const GivenKey* mapping = find(path + ".name");
    const GivenKey* text = mapping != nullptr ? mapping : find(path);
    return text != nullptr ? text : find("hosts");
  }
  /// The number of all hosts; nullopt: an error is or will be reported.
  std::optional<std::size_t> count();
  bool check_item(std::size_t index, std::map<std::string, std::size_t>& seen);
  void check_slots(std::size_t hosts);
  void check_command();
  void check_word(std::size_t index);

  std::size_t slots_ = 0;  // of all hosts
  bool all_have_slots_ = true;
};

std::optional<std::size_t> HostValidator::count() {
  std::size_t hosts = 0;
  for (std::size_t i = 0; i < job_.hosts.hosts.size(); ++i) {
    const GivenKey* key = item(i);
    const auto here = count_hosts(job_.hosts.hosts[i].name);
    if (key == nullptr || !key->good || !here || *here == 0) return std::nullopt;
    hosts += *here;
    if (hosts <= kMostHosts) continue;
    diagnostics_.error(key->value, "hosts: more than " + std::to_string(kMostHosts) + " hosts");
    return std::nullopt;
  }
  return hosts;
}

/// Returns false after reporting an error.
bool HostValidator::check_item(std::size_t index, std::map<std::string, std::size_t>& seen) {
  const GivenKey* key = item(index);
  const HostSpec& written = job_.hosts.hosts[index];
  const std::string path = "hosts[" + std::to_string(index) + "]";
  const auto hosts = expand_host(written);
  if (!hosts) {
    diagnostics_.error(key->value, path + ": " + hosts.error());
    return false;
  }
  for (const HostSpec& host : *hosts) {
    if (host.name == "auto") {
      diagnostics_.error(key->value, "hosts: auto must not be in a list");
      return false;
    }
    slots_ += static_cast<std::size_t>(std::max(host.slots, 0));
    all_have_slots_ = all_have_slots_ && host.slots > 0;
    const auto [first, is_new] = seen.try_emplace(host.name, index);
    if (is_new) continue;
    const std::string where = first->second == index
                                  ? ""
                                  : " (hosts[" + std::to_string(first->second) + "], " +
                                        diagnostics_.refer_to(item(first->second)->value) + ")";
    diagnostics_.error(key->value, path + ": " + in_quotes(host.name) +
                                       " is named twice; to run several ranks on it, give it "
                                       "slots" +
                                       where);
    return false;
  }
  return true;
}

void HostValidator::check_list() {
  const GivenKey* hosts = good("hosts");
  if (hosts != nullptr && good("hostfile") != nullptr)
    return contradict("hosts", "hostfile",
                      "hosts and hostfile both select the nodes; give only one of them");
  if (hosts == nullptr || job_.hosts.from_scheduler) return;
  if (job_.hosts.hosts.empty())
    return diagnostics_.error(hosts->key, "hosts names no host; for this machine leave it out");
  const auto given = count();
  if (!given) return;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < job_.hosts.hosts.size() && !diagnostics_.is_full(); ++i) {
    if (!check_item(i, seen)) return;
  }
  if (*given < hosts_needed(job_)) {
    const bool lacks_nodes = job_.nodes && static_cast<std::size_t>(job_.nodes->min) > *given;
    contradict(lacks_nodes ? "nodes" : "spares", "hosts", too_few_hosts(job_, *given, ""));
  }
  check_slots(*given);
}

/// Checks like resolve_hosts(), but for the hosts in the job file.
void HostValidator::check_slots(std::size_t hosts) {
  const GivenKey* processes = good("processes");
  if (processes == nullptr || !all_have_slots_ || job_.launch == Launch::per_node) return;
  if (static_cast<std::size_t>(*job_.processes) <= slots_) return;
  diagnostics_.error(processes->value,
                     too_few_slots(std::to_string(*job_.processes) + " processes,", hosts, slots_,
                                   "hosts, " + diagnostics_.refer_to(find("hosts")->key)));
}

void HostValidator::check_connect() {
  const std::string& via = job_.connect.via;
  for (const Field& field : fields()) {
    const std::string key(field.key);
    if (field.connectors.empty() || good(key) == nullptr) continue;
    if (is_listed(via, field.connectors)) continue;
    const std::string problem = find("connect.via") == nullptr
                                    ? " needs connect.via: " + std::string(field.connectors)
                                    : " has no effect with via: " + via;
    contradict(key, "connect.via", key + problem);
  }
  if (via == Connect::Via::command && find("connect.command") == nullptr) {
    diagnostics_.error(find("connect.via")->value,
                       "via: command needs connect.command, such as [ssh, \"{host}\"]");
  }
  if (via == Connect::Via::automatic && good("connect.command") != nullptr) {
    for (const char* key : {"connect.ssh", "connect.identity_file"}) {
      if (good(key) != nullptr) {
        contradict(key, "connect.command",
                   std::string(key) + " has no effect with connect.command");
      }
    }
  }
  check_command();
}

/// An unknown "{name}" is probably a typing error, because nothing would replace it.
void HostValidator::check_word(std::size_t index) {
  const std::string& word = job_.connect.command[index];
  for (std::size_t open = word.find('{'); open != std::string::npos;
       open = word.find('{', open + 1)) {
    const std::size_t close = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", open + 1);
    if (close == std::string::npos || close == open + 1 || word[close] != '}') continue;
    const std::string_view name = std::string_view(word).substr(open, close - open + 1);
    if (contains(kPlaceholders, name)) continue;
    diagnostics_.error(find("connect.command")->value,
                       "connect.command[" + std::to_string(index) + "]: unknown placeholder " +
                           in_quotes(name) +
                           "; the placeholders are {host}, {user}, {port} and {command}");
  }
}

void HostValidator::check_command() {
  const GivenKey* key = good("connect.command");
  if (key == nullptr) return;
  const std::vector<std::string>& command = job_.connect.command;
  if (command.empty() || command.front().find('{') == 0)
    return diagnostics_.error(key->value, "connect.command must begin with the program to run");
  for (std::size_t i = 0; i < command.size(); ++i) check_word(i);
  const bool has_host = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word.find("{host}") != std::string::npos;
  });
  if (!has_host) {
    diagnostics_.error(key->value,
                       "connect.command needs {host}, or it would reach the same node each time");
  }
}

}  // namespace

void validate_hosts(const JobSpec& job, const GivenKeys& given, Diagnostics& diagnostics) {
  HostValidator validator(job, given, diagnostics);
  validator.check_list();
  validator.check_connect();
}

}  // namespace dlaunch::jobfile
