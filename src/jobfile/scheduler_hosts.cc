#include "jobfile/scheduler_hosts.h"

#include <algorithm>
#include <array>

#include "jobfile/diagnostics.h"
#include "jobfile/hostfile.h"
#include "jobfile/hostfile_syntax.h"
#include "jobfile/hostlist.h"
#include "text/number.h"
#include "text/strings.h"

namespace dlaunch::jobfile {

namespace {

enum class Form { file, list, pairs, counted_pairs };

struct Row {
  std::string_view variable;
  Form form;
};

constexpr std::array kRows{
    Row{"PBS_NODEFILE", Form::file},       Row{"LSB_MCPU_HOSTS", Form::pairs},
    Row{"LSB_DJOB_HOSTFILE", Form::file},  Row{"LSB_HOSTS", Form::list},
    Row{"PE_HOSTFILE", Form::file},        Row{"SLURM_JOB_NODELIST", Form::list},
    Row{"AZ_BATCH_HOST_LIST", Form::list}, Row{"AZ_BATCH_NODE_LIST", Form::list},
    Row{"CCP_NODES", Form::counted_pairs}};

tl::unexpected<Error> wrong(const SchedulerVariable& variable, const std::string& what) {
  return fail(exit_code::kJobFile, std::string(variable.name) + ": " + what);
}

Result<std::vector<HostSpec>> hosts_of(const SchedulerVariable& variable,
                                       SlotsByHost& slots_by_host) {
  std::vector<HostSpec> hosts;
  for (SlotsByHost::Count& count : slots_by_host.counts()) {
    if (count.slots > kMostSlots)
      return wrong(variable, "one host has more than " + std::to_string(kMostSlots) + " slots");
    count.host.slots = static_cast<int>(count.slots);
    hosts.push_back(std::move(count.host));
  }
  if (hosts.empty()) return wrong(variable, "it names no host");
  return hosts;
}

Result<std::vector<HostSpec>> read_list(const SchedulerVariable& variable, std::string text) {
  std::replace(text.begin(), text.end(), ';', ',');
  const auto entries = expand_hostlist(text, variable.name);
  if (!entries) return tl::unexpected(entries.error());
  SlotsByHost slots_by_host;
  for (const HostEntry& entry : *entries)
    slots_by_host.at(entry.name, 0).slots += std::max(entry.slots, 1);
  return hosts_of(variable, slots_by_host);
}

Result<std::vector<HostSpec>> read_pairs(const SchedulerVariable& variable,
                                         const std::vector<std::string_view>& words) {
  if (words.size() % 2 != 0) {
    return wrong(variable, "hosts and numbers must come in pairs, as in \"hostA 4 hostB 2\"");
  }
  SlotsByHost slots_by_host;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto host = expand_hostlist(words[i], variable.name);
    if (!host) return tl::unexpected(host.error());
    const auto slots = count_from<std::int64_t>(words[i + 1]);
    if (host->size() != 1 || !slots || *slots < 1 || *slots > kMostSlots) {
      return wrong(variable, in_quotes(words[i]) + " must be a host and " +
                                 in_quotes(words[i + 1]) + " its slots, as in \"hostA 4\"");
    }
    slots_by_host.at(host->front().name, 0).slots += *slots;
  }
  return hosts_of(variable, slots_by_host);
}

Result<std::vector<HostSpec>> read_counted_pairs(const SchedulerVariable& variable,
                                                 std::vector<std::string_view> words) {
  const auto count = words.empty() ? std::nullopt : count_from<std::int64_t>(words.front());
  if (!count || static_cast<std::size_t>(*count) * 2 + 1 != words.size()) {
    return wrong(variable,
                 "expected a number of hosts, then that many pairs, as in \"2 hostA 4 hostB 2\"");
  }
  words.erase(words.begin());
  return read_pairs(variable, words);
}

Result<std::vector<HostSpec>> read_file(const SchedulerVariable& variable, std::string_view text) {
  auto file = read_hostfile(text, variable.value);
  if (file) return std::move(file->hosts);
  return wrong(variable, file.error().message);
}

Result<std::vector<HostSpec>> read(const SchedulerVariable& variable, std::string_view text) {
  const auto found = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const Row& row) { return row.variable == variable.name; });
  switch (found == kRows.end() ? Form::list : found->form) {
    case Form::file:
      return read_file(variable, text);
    case Form::pairs:
      return read_pairs(variable, split_words(text));
    case Form::counted_pairs:
      return read_counted_pairs(variable, split_words(text));
    case Form::list:
      break;
  }
  return read_list(variable, std::string(text));
}

}  // namespace

Result<SchedulerVariable> find_scheduler_hosts(const Environment& environment) {
  for (const Row& row : kRows) {
    auto value = find_variable(environment, row.variable);
    if (value && !value->empty())
      return SchedulerVariable{row.variable, std::move(*value), row.form == Form::file};
  }
  return fail(
      exit_code::kJobFile,
      "\"hosts: auto\" but no scheduler provides a list of nodes; none of these variables is "
      "set: " +
          joined(kRows, ", ", &Row::variable) +
          "\n  outside of a scheduler, name the hosts: --hosts gpu[01-04]");
}

Result<std::vector<HostSpec>> read_scheduler_hosts(const SchedulerVariable& variable,
                                                   std::string_view text) {
  auto hosts = read(variable, text);
  if (!hosts) return hosts;
  const bool one_each = std::all_of(hosts->begin(), hosts->end(),
                                    [](const HostSpec& host) { return host.slots <= 1; });
  for (HostSpec& host : *hosts) host.slots = one_each ? 0 : host.slots;
  return hosts;
}

}  // namespace dlaunch::jobfile
