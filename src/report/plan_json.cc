#include "report/plan_json.h"

#include <map>
#include <string_view>
#include <vector>

#include "text/json_text.h"

namespace dlaunch {

namespace {

/// Writes objects and arrays; takes care of the commas.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void open(char bracket) {
    out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    element();
    append_json_string(out_, name);
    out_ += ':';
    first_ = true;  // the value needs no comma before it
  }
  void text(std::string_view value) {
    element();
    append_json_string(out_, value);
  }
  void number(std::size_t value) {
    element();
    out_ += std::to_string(value);
  }
  void boolean(bool value) {
    element();
    out_ += value ? "true" : "false";
  }
  /// A comma, if one is needed, and the next element on a line of its own.
  void new_line(std::string_view indent) {
    element();
    out_ += '\n';
    out_ += indent;
    first_ = true;
  }

 private:
  void element() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  std::string& out_;
  bool first_ = true;
};

bool is_passed(const Variable& variable) {
  return variable.source == VariableSource::env_pass ||
         variable.source == VariableSource::env_secret;
}

void write_variables(JsonWriter& json, const std::vector<Variable>& variables) {
  json.key("variables");
  json.open('{');
  for (const Variable& variable : variables) {
    if (is_passed(variable)) continue;
    json.key(variable.name);
    json.text(variable.value);
  }
  json.close('}');
}

template <class Numbers, class ToNumber>
void write_numbers(JsonWriter& json, std::string_view name, const Numbers& numbers,
                   const ToNumber& to_number) {
  json.key(name);
  json.open('[');
  for (const auto& number : numbers) json.number(static_cast<std::size_t>(to_number(number)));
  json.close(']');
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name);
  json.open('[');
  for (const std::string& text : texts) json.text(text);
  json.close(']');
}

void write_names(JsonWriter& json, std::string_view name, const LaunchPlan& plan,
                 VariableSource source) {
  json.key(name);
  json.open('[');
  for (const Variable& variable : plan.variables) {
    if (variable.source == source) json.text(variable.name);
  }
  json.close(']');
}

void write_head(JsonWriter& json, const LaunchPlan& plan) {
  const auto field = [&](std::string_view name, std::string_view value) {
    json.new_line(" ");
    json.key(name);
    json.text(value);
  };
  json.new_line(" ");
  json.key("format");
  json.number(1);
  field("name", plan.name);
  field("run_id", plan.run_id);
  json.new_line(" ");
  json.key("attempt");
  json.number(plan.attempt.value);
  field("framework", name_of(plan.framework));
  field("launch", name_of(plan.launch));
  field("workdir", plan.workdir);
  json.new_line(" ");
  json.key("master");
  json.open('{');
  json.key("address");
  json.text(plan.master.address);
  json.key("port");
  json.number(plan.master.port);
  json.key("reason");
  json.text(plan.master.reason);
  json.close('}');
}

void write_commands(JsonWriter& json, const LaunchPlan& plan) {
  json.new_line(" ");
  json.key("commands");
  json.open('[');
  for (const CommandPlan& command : plan.commands) {
    json.new_line("  ");
    json.open('{');
    write_texts(json, "argv", command.argv);
    json.key("shell");
    json.boolean(command.is_own_shell);
    json.close('}');
  }
  json.close(']');
}

void write_nodes(JsonWriter& json, const LaunchPlan& plan) {
  json.new_line(" ");
  json.key("nodes");
  json.open('[');
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const NodePlan& node = plan.nodes[i];
    json.new_line("  ");
    json.open('{');
    json.key("node");
    json.number(i);
    json.key("name");
    json.text(node.name);
    json.key("address");
    json.text(node.address);
    write_numbers(json, "ranks", node.ranks, [](Rank rank) { return rank.value; });
    json.key("binding");
    json.text(node.binding_note);
    write_variables(json, node.variables);
    json.close('}');
  }
  json.close(']');
}

void write_rank(JsonWriter& json, const RankPlan& rank) {
  json.open('{');
  json.key("rank");
  json.number(rank.rank.value);
  json.key("node");
  json.number(rank.node.value);
  json.key("local_rank");
  json.number(rank.local_rank.value);
  json.key("role");
  json.text(rank.role);
  json.key("role_rank");
  json.number(rank.role_rank);
  json.key("command");
  json.number(rank.command);
  write_numbers(json, "cpus", rank.cpus, [](int cpu) { return cpu; });
  write_texts(json, "gpus", rank.gpus);
  write_numbers(json, "ports", rank.ports, [](std::uint16_t port) { return port; });
  write_variables(json, rank.variables);
  json.close('}');
}

void write_reasons(JsonWriter& json, const LaunchPlan& plan) {
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
  json.new_line(" ");
  json.key("reasons");
  json.open('{');
  for (const auto& [name, reason] : reasons) {
    json.key(name);
    json.text(reason);
  }
  json.close('}');
}

}  // namespace

std::string plan_json(const LaunchPlan& plan) {
  std::string out;
  out.reserve(4096 + plan.ranks.size() * 512);
  JsonWriter json(out);
  json.open('{');
  write_head(json, plan);
  write_commands(json, plan);
  write_nodes(json, plan);
  json.new_line(" ");
  json.key("ranks");
  json.open('[');
  for (const RankPlan& rank : plan.ranks) {
    json.new_line("  ");
    write_rank(json, rank);
  }
  json.close(']');
  json.new_line(" ");
  write_variables(json, plan.variables);
  json.new_line(" ");
  write_names(json, "passed", plan, VariableSource::env_pass);
  json.new_line(" ");
  write_names(json, "secret", plan, VariableSource::env_secret);
  write_reasons(json, plan);
  json.new_line(" ");
  write_texts(json, "scrubbed", plan.scrubbed);
  json.new_line(" ");
  write_texts(json, "not_passed", plan.not_passed);
  json.new_line(" ");
  write_texts(json, "notes", plan.notes);
  out += "\n}\n";
  return out;
}

}  // namespace dlaunch
