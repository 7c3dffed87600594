#include "report/plan_json.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/inherited_env.h"
#include "plan/rank_env.h"
#include "report/facts_json.h"
#include "text/json_text.h"

namespace dlaunch {

namespace {

bool is_passed(const Variable& variable) {
  return variable.source == VariableSource::env_pass ||
         variable.source == VariableSource::env_secret;
}

void write_variables(JsonText& json, const std::vector<Variable>& variables) {
  json.key("variables");
  json.begin_object();
  for (const Variable& variable : variables) {
    if (is_passed(variable)) continue;
    json.key(variable.name);
    json.string(variable.value);
  }
  json.end_object();
}

template <class Numbers, class ToNumber>
void write_numbers(JsonText& json, std::string_view name, const Numbers& numbers,
                   const ToNumber& to_number) {
  json.key(name);
  json.begin_array();
  for (const auto& number : numbers) json.number(to_number(number));
  json.end_array();
}

void write_texts(JsonText& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name);
  json.begin_array();
  for (const std::string& text : texts) json.string(text);
  json.end_array();
}

void write_names(JsonText& json, std::string_view name, const LaunchPlan& plan,
                 VariableSource source) {
  json.key(name);
  json.begin_array();
  for (const Variable& variable : plan.variables) {
    if (variable.source == source) json.string(variable.name);
  }
  json.end_array();
}

void write_head(JsonText& json, const LaunchPlan& plan) {
  const auto field = [&](std::string_view name, std::string_view value) {
    json.line(1);
    json.key(name);
    json.string(value);
  };
  json.line(1);
  json.key("format");
  json.number(1);
  field("name", plan.name);
  field("run_id", plan.run_id);
  json.line(1);
  json.key("attempt");
  json.number(plan.attempt.value);
  field("framework", name_of(plan.framework));
  field("launch", name_of(plan.launch));
  field("workdir", plan.workdir);
  if (plan.sync) {
    json.line(1);
    json.key("sync");
    json.begin_object();
    json.key("files").number(plan.sync->files).key("bytes").number(plan.sync->bytes);
    json.end_object();
  }
  json.line(1);
  json.key("master");
  json.begin_object();
  json.key("address");
  json.string(plan.master.address);
  json.key("port");
  json.number(plan.master.port);
  json.key("reason");
  json.string(plan.master.reason);
  json.end_object();
}

void write_staged(JsonText& json, const LaunchPlan& plan) {
  if (plan.staged.empty()) return;
  json.line(1);
  json.key("stage");
  json.begin_array();
  for (const PlannedCopy& copy : plan.staged) {
    json.line(2);
    json.begin_object();
    json.key("from").string(copy.from).key("to").string(copy.to);
    json.key("unpack").boolean(copy.unpack);
    if (copy.extent)
      json.key("files").number(copy.extent->files).key("bytes").number(copy.extent->bytes);
    json.end_object();
  }
  json.end_array();
}

void write_commands(JsonText& json, const LaunchPlan& plan) {
  json.line(1);
  json.key("commands");
  json.begin_array();
  for (const CommandPlan& command : plan.commands) {
    json.line(2);
    json.begin_object();
    write_texts(json, "argv", command.argv);
    json.key("shell");
    json.boolean(command.is_own_shell);
    json.end_object();
  }
  json.end_array();
}

void write_files(JsonText& json, const std::vector<FilePlan>& files) {
  json.key("files").begin_array();
  for (const FilePlan& file : files)
    json.begin_object().key("path").string(file.path).key("text").string(file.text).end_object();
  json.end_array();
}

void write_containers(JsonText& json, const std::vector<ContainerPlan>& containers) {
  json.key("containers").begin_array();
  for (const ContainerPlan& container : containers) {
    json.begin_object().key("runtime").string(container.runtime);
    json.key("image").string(container.image);
    write_texts(json, "argv", container.argv);
    json.end_object();
  }
  json.end_array();
}

void write_nodes(JsonText& json, const LaunchPlan& plan, const Cluster* cluster) {
  json.line(1);
  json.key("nodes");
  json.begin_array();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const NodePlan& node = plan.nodes[i];
    json.line(2);
    json.begin_object();
    json.key("node");
    json.number(static_cast<std::int64_t>(i));
    json.key("name");
    json.string(node.name);
    json.key("address");
    json.string(node.address);
    // Where the output stays on the node if it is not collected.
    if (node.is_remote) json.key("output_folder").string(node.output_folder);
    write_numbers(json, "ranks", node.ranks, [](Rank rank) { return rank.value; });
    json.key("binding");
    json.string(node.binding_note);
    write_variables(json, node.variables);
    write_files(json, node.files);
    if (!node.containers.empty()) write_containers(json, node.containers);
    if (cluster != nullptr && cluster->is_assumed) json.key("facts").null();
    if (cluster != nullptr && !cluster->is_assumed) {
      json.key("facts");
      write_facts(json, cluster->nodes[i].facts);
    }
    json.end_object();
  }
  json.end_array();
}

void write_hosts(JsonText& json, const LaunchPlan& plan) {
  json.line(1).key("hosts").begin_array();
  for (const HostSlots& host : plan.hosts) {
    json.line(2).begin_object().key("name").string(host.name).key("slots").number(host.slots);
    json.end_object();
  }
  json.end_array();
}

void write_mpirun(JsonText& json, const MpirunPlan& mpirun) {
  json.line(1).key("mpirun").begin_object().key("name").string(mpirun.name);
  write_texts(json, "argv", mpirun.argv);
  json.end_object();
}

void write_rank(JsonText& json, const RankPlan& rank) {
  json.begin_object();
  json.key("rank");
  json.number(rank.rank.value);
  json.key("node");
  json.number(rank.node.value);
  json.key("local_rank");
  json.number(rank.local_rank.value);
  json.key("role");
  json.string(rank.role);
  json.key("role_rank");
  json.number(rank.role_rank);
  json.key("command");
  json.number(rank.command);
  write_numbers(json, "cpus", rank.cpus, [](int cpu) { return cpu; });
  write_texts(json, "gpus", rank.gpus);
  if (rank.container) json.key("container").number(*rank.container);
  write_numbers(json, "ports", rank.ports, [](std::uint16_t port) { return port; });
  write_variables(json, rank.variables);
  json.end_object();
}

void write_reasons(JsonText& json, const LaunchPlan& plan) {
  std::map<std::string_view, std::string_view> reasons;
  const auto collect = [&](const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) reasons.emplace(variable.name, variable.reason);
  };
  collect(plan.variables);
  for (const NodePlan& node : plan.nodes) collect(node.variables);
  // Ranks of one role have the same names; a role is a contiguous range of ranks.
  const std::string* role = nullptr;
  for (const RankPlan& rank : plan.ranks) {
    if (role == nullptr || *role != rank.role) collect(rank.variables);
    role = &rank.role;
  }
  json.line(1);
  json.key("reasons");
  json.begin_object();
  for (const auto& [name, reason] : reasons) {
    json.key(name);
    json.string(reason);
  }
  json.end_object();
}

}  // namespace

std::string plan_json(const LaunchPlan& plan, const Cluster* cluster) {
  std::string out;
  out.reserve(4096 + plan.ranks.size() * 512);
  JsonText json(out);
  json.begin_object();
  write_head(json, plan);
  write_staged(json, plan);
  write_commands(json, plan);
  write_nodes(json, plan, cluster);
  if (!plan.spares.empty()) {
    json.line(1);
    write_texts(json, "spares", plan.spares);
  }
  if (!plan.hosts.empty()) write_hosts(json, plan);
  if (plan.mpirun) write_mpirun(json, *plan.mpirun);
  json.line(1);
  json.key("ranks");
  json.begin_array();
  for (const RankPlan& rank : plan.ranks) {
    json.line(2);
    write_rank(json, rank);
  }
  json.end_array();
  json.line(1);
  write_variables(json, plan.variables);
  json.line(1);
  write_names(json, "passed", plan, VariableSource::env_pass);
  json.line(1);
  write_names(json, "secret", plan, VariableSource::env_secret);
  if (!plan.carried.empty()) {
    json.line(1).key("carried").begin_array();
    for (const auto& [name, value] : plan.carried) json.string(name);
    json.end_array();
  }
  write_reasons(json, plan);
  json.line(1);
  write_texts(json, "scrubbed", plan.scrubbed);
  json.line(1);
  write_texts(json, "not_passed", plan.not_passed);
  json.line(1);
  write_texts(json, "notes", plan.notes);
  json.line(0).end_object();
  out += '\n';
  return out;
}

std::string plan_env_json(const LaunchPlan& plan, Rank rank) {
  const RankPlan& own = plan.ranks[rank.value];
  const NodePlan& node = plan.nodes[own.node.value];
  std::map<std::pair<std::size_t, std::string_view>, const Variable*> variables;
  const std::vector<Variable> carried = carried_to(plan, own.node);
  for (const auto* layer : {&carried, &plan.variables, &node.variables, &own.variables}) {
    for (const Variable& v : *layer) variables[{table_position(v.name), v.name}] = &v;
  }
  std::string out;
  JsonText json(out);
  json.begin_object();
  json.line(1).key("format").number(1);
  json.line(1).key("rank").number(rank.value);
  json.line(1).key("node").string(node.name);
  json.line(1).key("variables").begin_array();
  for (const auto& [position, variable] : variables) {
    json.line(2).begin_object().key("name").string(variable->name).key("value");
    if (variable->source == VariableSource::env_secret) {
      json.null();
    } else {
      json.string(variable->value);
    }
    json.key("reason").string(variable->reason).end_object();
  }
  json.end_array().line(1);
  write_texts(json, "scrubbed", plan.scrubbed);
  json.line(0).end_object();
  out += '\n';
  return out;
}

}  // namespace dlaunch
