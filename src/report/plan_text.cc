#include "report/plan_text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "jobfile/shell_quote.h"
#include "plan/command.h"
#include "plan/inherited_env.h"
#include "plan/rank_env.h"
#include "report/plan_layout.h"
#include "report/plan_table.h"
#include "text/plain_text.h"
#include "text/size_text.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch {

namespace {

struct Found {
  const Variable* variable;
  std::vector<const NodePlan*> nodes;  // nodes with this value and this reason
};

std::vector<Found> fabric_variables(const LaunchPlan& plan) {
  std::vector<Found> found;
  for (const NodePlan& node : plan.nodes) {
    for (const Variable& v : node.variables) {
      if (v.source != VariableSource::fabric) continue;
      const auto known = std::find_if(found.begin(), found.end(), [&](const Found& f) {
        return f.variable->name == v.name && f.variable->value == v.value &&
               f.variable->reason == v.reason;
      });
      if (known == found.end()) {
        found.push_back({&v, {&node}});
      } else {
        known->nodes.push_back(&node);
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return table_position(a.variable->name) < table_position(b.variable->name);
  });
  return found;
}

void add_fabric_variables(std::string& out, const LaunchPlan& plan) {
  std::string_view label = "from fabric";
  for (const Found& f : fabric_variables(plan)) {
    std::string note = f.variable->reason;
    if (f.nodes.size() < plan.nodes.size()) {
      note = "on " + f.nodes.front()->name +
             (f.nodes.size() > 1 ? " and " + counted(f.nodes.size() - 1, "more node") : "") + ": " +
             note;
    }
    const std::string value = f.variable->name + "=" + f.variable->value;
    const std::size_t columns = std::max(kLabel + utf8_length(value) + 2, kNoteAt);
    if (columns + utf8_length(note) <= kWidth) {
      add_line(out, std::exchange(label, ""), kLabel, value, note);
      continue;
    }
    add_line(out, std::exchange(label, ""), kLabel, value, "");
    const auto words = split_words(note);
    add_words(out, "", {words.begin(), words.end()});
  }
}

/// The numbers of ranks and nodes. With launch: once, how many ranks the single process may start.
std::string size_text(const LaunchPlan& plan) {
  if (plan.hosts.empty())
    return counted(plan.ranks.size(), "rank") + " on " + counted(plan.nodes.size(), "node");
  std::size_t slots = 0;
  for (const HostSlots& host : plan.hosts) slots += host.slots;
  return counted(slots, "slot") + " on " + counted(plan.hosts.size(), "node");
}

void add_role_commands(std::string& out, const LaunchPlan& plan, std::size_t label) {
  const std::string* role = nullptr;
  for (const RankPlan& rank : plan.ranks) {
    if (role != nullptr && *role == rank.role) continue;
    role = &rank.role;
    add_line(out, "  " + rank.role, label,
             shortened(command_text(plan.commands[rank.command]), kWidth - label), "");
  }
}

void add_head(std::string& out, const LaunchPlan& plan) {
  std::size_t least = 10;
  if (plan.commands.size() > 1) {  // this column then holds the roles
    for (const RankPlan& rank : plan.ranks) least = std::max(least, rank.role.size() + 4);
  }
  const std::size_t label = std::clamp<std::size_t>(utf8_length(plan.name) + 2, least, 24);
  const std::string shape = std::string(name_of(plan.framework)) + ", " +
                            std::string(name_of(plan.launch)) + ", " + size_text(plan);
  const std::string command = shortened(command_text(plan.commands.front()), kWidth - label);
  if (plan.commands.size() == 1) {
    add_line(out, shortened(plan.name, label - 2), label, command, shape);
  } else {
    add_line(out, shortened(plan.name, label - 2), label, shape, "");
    add_role_commands(out, plan, label);
  }
  add_line(out, "workdir", label, plan.workdir, "");
  if (plan.sync) {
    add_line(out, "sync", label,
             files_text(plan.sync->files, plan.sync->bytes) + " to the other nodes",
             "what they lack is sent before the start");
  }
  std::string stage = "stage";
  for (const PlannedCopy& copy : plan.staged) {
    const std::string what =
        copy.extent ? files_text(copy.extent->files, copy.extent->bytes) + ' ' : "";
    const std::string from = copy.from == copy.to ? "from the same path" : "from " + copy.from;
    add_line(out, std::exchange(stage, ""), label,
             what + (copy.unpack ? "unpacked into " : "to ") + copy.to, from);
  }
  if (plan.master.port != 0) {
    add_line(out, "master", label,
             plan.master.address + ":" + std::to_string(plan.master.port) + " on " +
                 plan.nodes.front().name,
             plan.master.reason);
  }
  const bool same = std::all_of(plan.nodes.begin(), plan.nodes.end(), [&](const NodePlan& node) {
    return node.binding_note == plan.nodes.front().binding_note;
  });
  if (same) {
    add_line(out, "cpus", label, plan.nodes.front().binding_note, "");
    return;
  }
  std::map<std::string_view, std::vector<std::string>> nodes_of;  // a note -> its nodes
  for (const NodePlan& node : plan.nodes) nodes_of[node.binding_note].push_back(node.name);
  std::string_view first = "cpus";
  for (const auto& [note, names] : nodes_of) {
    add_line(
        out, std::exchange(first, ""), label, std::string(note),
        names.front() + (names.size() > 1 ? " and " + counted(names.size() - 1, "more node") : ""));
  }
}

struct Shown {
  std::string name, value;
};

void sort_for_reading(std::vector<Shown>& variables) {
  std::stable_sort(variables.begin(), variables.end(), [](const Shown& a, const Shown& b) {
    return std::pair(table_position(a.name), a.name) < std::pair(table_position(b.name), b.name);
  });
}

std::vector<std::string> assignments(std::vector<Shown> variables) {
  sort_for_reading(variables);
  std::vector<std::string> words;
  words.reserve(variables.size());
  for (const Shown& v : variables)
    words.push_back(v.value.empty() ? v.name : v.name + "=" + v.value);
  return words;
}

/// With launch: once, the content of the hostfiles, and their paths.
void add_hosts(std::string& out, const LaunchPlan& plan) {
  std::string_view label = "hostfile";
  for (std::size_t i = 0; i < plan.hosts.size(); ++i) {
    if (plan.hosts.size() > kAllRanks && i == kFirst) {
      out += padded("", kLabel) + "... " +
             counted(plan.hosts.size() - kFirst - kLast, "more node") + "\n";
      i = plan.hosts.size() - kLast;
    }
    const HostSlots& host = plan.hosts[i];
    add_line(out, std::exchange(label, ""), kLabel,
             host.name + " slots=" + std::to_string(host.slots),
             i == 0 ? "written before the process starts" : "");
  }
  if (!plan.hosts.empty()) out += "\n";
}

/// With mpi.launcher: mpirun, the command line that node 0 executes.
void add_mpirun(std::string& out, const LaunchPlan& plan) {
  if (!plan.mpirun) return;
  std::vector<std::string> words;
  for (const std::string& word : plan.mpirun->argv)
    words.push_back(plain_line(jobfile::shell_quote(word)));
  add_words(out, "mpirun", words);
  add_line(out, "", kLabel, "of " + plan.mpirun->name + ", on " + plan.nodes.front().name, "");
  out += "\n";
}

/// The command line of each kind of container, from the first node that has one of that kind.
void add_containers(std::string& out, const LaunchPlan& plan) {
  std::vector<std::pair<std::string, std::string>> known;
  for (const NodePlan& node : plan.nodes) {
    for (const ContainerPlan& container : node.containers) {
      const std::pair<std::string, std::string> kind(container.runtime, container.image);
      if (std::find(known.begin(), known.end(), kind) != known.end()) continue;
      known.push_back(kind);
      std::vector<std::string> words;
      for (const std::string& word : container.argv)
        words.push_back(plain_line(jobfile::shell_quote(word)));
      if (container.named > 0) words[container.named] += "RANK";
      words.emplace_back("RANK");
      add_words(out, "container", words);
      add_line(out, "", kLabel, "by " + container.runtime + ", as on " + node.name, "");
    }
  }
  if (!known.empty()) out += "\n";
}

/// The variable with that name; null: there is none.
const Variable* find(const std::vector<Variable>& variables, std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(),
                                  [&](const Variable& v) { return v.name == name; });
  return found == variables.end() ? nullptr : &*found;
}

void add_rank_variables(std::string& out, const LaunchPlan& plan) {
  std::vector<Shown> every, per_node, per_rank;
  for (const Variable& v : plan.variables) {
    if (v.source == VariableSource::rank) every.push_back({v.name, v.value});
  }
  for (const Variable& v : plan.nodes.front().variables) {
    if (v.source == VariableSource::fabric) continue;
    const bool same = std::all_of(plan.nodes.begin(), plan.nodes.end(), [&](const NodePlan& node) {
      const Variable* other = find(node.variables, v.name);
      return other != nullptr && other->value == v.value;
    });
    // If the values of a variable differ, only its name is shown.
    (same ? every : per_node).push_back({v.name, same ? v.value : ""});
  }
  const std::string* role = nullptr;
  for (const RankPlan& rank : plan.ranks) {  // names differ only between roles
    if (role != nullptr && *role == rank.role) continue;
    role = &rank.role;
    for (const Variable& v : rank.variables) {
      const bool known = std::any_of(per_rank.begin(), per_rank.end(),
                                     [&](const Shown& shown) { return shown.name == v.name; });
      if (v.source == VariableSource::rank && !known) per_rank.push_back({v.name, ""});
    }
  }
  add_words(out, "every rank", assignments(std::move(every)));
  add_words(out, "by node", assignments(std::move(per_node)));
  add_words(out, "by rank", assignments(std::move(per_rank)));
}

void add_user_variables(std::string& out, const LaunchPlan& plan) {
  std::string_view label = "yours";
  const auto add = [&](const Variable& v) {
    add_line(out, std::exchange(label, ""), kLabel,
             shortened(v.name + "=" + v.value, kWidth - kLabel), v.reason);
  };
  for (const Variable& v : plan.variables) {
    if (v.source == VariableSource::job_env) add(v);
  }
  const std::string* role = nullptr;
  for (const RankPlan& rank : plan.ranks) {
    if (role != nullptr && *role == rank.role) continue;
    role = &rank.role;
    for (const Variable& v : rank.variables) {
      if (v.source == VariableSource::role_env) add(v);
    }
  }
  label = "passed";
  for (const Variable& v : plan.variables) {
    const bool is_secret = v.source == VariableSource::env_secret;
    if (!is_secret && v.source != VariableSource::env_pass) continue;
    add_line(out, std::exchange(label, ""), kLabel, v.name,
             is_secret ? "env_secret, never shown" : v.reason);
  }
  label = "carried";
  for (const auto& [name, value] : plan.carried)
    add_line(out, std::exchange(label, ""), kLabel, name, std::string(carried_reason(name)));
  label = "not passed";
  for (const std::string& name : plan.not_passed) {
    add_line(out, std::exchange(label, ""), kLabel, name, "named in the job, not set here");
  }
}

struct EnvLine {
  const Variable* variable;
  std::string assignment;
};

}  // namespace

std::string plan_text(const LaunchPlan& plan, const Cluster& cluster) {
  std::string out;
  add_head(out, plan);
  out += "\n";
  add_rank_table(out, plan, cluster);
  if (!plan.spares.empty())
    add_line(out, "spares", kLabel, shortened(joined(plan.spares, ", "), kWidth - kLabel), "");
  out += "\n";
  add_hosts(out, plan);
  add_mpirun(out, plan);
  add_containers(out, plan);
  add_rank_variables(out, plan);
  add_fabric_variables(out, plan);
  add_user_variables(out, plan);
  std::string_view label = "note";
  for (const std::string& note : plan.notes) {
    const auto words = split_words(note);
    add_words(out, std::exchange(label, ""), {words.begin(), words.end()});
  }
  return out;
}

std::string plan_env_text(const LaunchPlan& plan, const Cluster&, Rank rank) {
  const RankPlan& own = plan.ranks[rank.value];
  std::map<std::pair<std::size_t, std::string_view>, EnvLine> lines;
  std::size_t width = 0;
  const std::vector<Variable> carried = carried_to(plan, own.node);
  for (const Variable& v : carried)
    lines[{table_position(v.name), v.name}] = {&v, v.name + "=" + jobfile::shell_quote(v.value)};
  for (const auto* layer :
       {&plan.variables, &plan.nodes[own.node.value].variables, &own.variables}) {
    for (const Variable& v : *layer) {
      const bool is_secret = v.source == VariableSource::env_secret;
      lines[{table_position(v.name), v.name}] = {
          &v, v.name + "=" + (is_secret ? "***" : jobfile::shell_quote(v.value))};
    }
  }
  for (const auto& [key, line] : lines) {
    if (line.assignment.size() <= 40) width = std::max(width, line.assignment.size());
  }
  std::string out;
  for (const auto& [key, line] : lines)
    out += padded(line.assignment, width) + "  # " + line.variable->reason + "\n";
  std::string comment = "# not inherited:";
  for (const std::string& name : plan.scrubbed) {
    if (find_if(lines.begin(), lines.end(),
                [&](const auto& l) { return l.first.second == name; }) != lines.end())
      continue;
    if (comment.size() + 1 + name.size() > kWidth) {
      out += comment + "\n";
      comment = "#";
    }
    comment += " " + name;
  }
  return out + comment + "\n";
}

}  // namespace dlaunch
